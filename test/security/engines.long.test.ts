import { test } from 'vitest';
import { skip } from '../conformance/skips.ts';
import { whyNoEngine } from '../real-engine.ts';
import { attackedEngine } from './attacked-engine.ts';
import { describeEngineImages } from './describe-engine-images.ts';
import { describeEngineTrees } from './describe-engine-trees.ts';
import { describeExhaustion } from './describe-exhaustion.ts';
import { describeFileApi } from './describe-file-api.ts';
import { describeHostFiles } from './describe-host-files.ts';
import { describeOutput } from './describe-output.ts';
import { describeRelay } from './describe-relay.ts';
import { describeTrust } from './describe-trust.ts';

/** The attacks that are not run each time: all of them on Podman, and every image on both. */
for (const name of ['docker', 'podman'] as const) {
  const missing = whyNoEngine(name);
  if (missing !== undefined) {
    test(`sandboxes of ${name} are attacked`, (context) => skip(context, missing));
    continue;
  }
  const { open, placesOf } = attackedEngine(name);
  describeEngineImages(name, open);
  describeOutput(name, open);
  describeEngineTrees(name, open);
  if (name === 'docker') continue;
  describeExhaustion(name, open);
  describeHostFiles(name, open, { placesOf, ownSockets: ['caisson'] });
  describeFileApi(name, open);
  describeTrust(name, open);
  describeRelay(name, open);
}
