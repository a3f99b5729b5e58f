import type { BaseImage } from '../../packages/server/src/images/images.ts';
import { BuildWorld } from './build-world.ts';

/** Builds some steps in a process of its own, to be killed at the worst moment. Its lines are what happens. */
const [folder = '', base = '', ...steps] = process.argv.slice(2);
const world = new BuildWorld(folder, JSON.parse(base) as BaseImage);
await world.start();
await world.build(world.plan(steps), { tell: (event) => console.log(JSON.stringify(event)) });
console.log('done');
await world.stop();
