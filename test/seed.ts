import { configureGlobal } from 'fast-check';

/**
 * `npm test` tries the same values each time, so that a commit passes or does not. `npm run test:long` takes new ones, and
 * many more of them; what it finds names its seed, and with that here it is found again.
 */
const seed = Number(process.env.CAISSON_SEED ?? 20_261_115);

configureGlobal({ seed });
