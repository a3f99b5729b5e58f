// `npm run bench`: sets the clone up, builds it, and measures. Arguments are those of bench/run.ts.
import { join } from 'node:path';
import { buildVariant } from '../packages/guest/build.mjs';
import { build, root, run, setup } from './setup.mjs';

setup({ use: 'bench' });
if (!(await build())) process.exit(1);
// What the guest's own spawning is compared with.
buildVariant('bare-spawn', { quiet: true });
process.exit(
  run(process.execPath, ['--expose-gc', join(root, 'bench', 'dist', 'bench', 'run.js'), ...process.argv.slice(2)])
    ? 0
    : 1,
);
