import { Caisson } from '@caisson/sdk';
import { testServer } from '../e2e/server.ts';

/** A server that collects images without a pause, in a process of its own, to be killed at the worst moment. */
const [folder = ''] = process.argv.slice(2);
// What was asked for a moment ago may be taken: nothing keeps it but that it is held, and then named.
const imageLimits = { graceMs: 0, unusedMs: 0, unusedBytes: 0 };
const { url } = await testServer({ drivers: ['oci'], imageLimits }, folder);
console.log(url);
const caisson = new Caisson({ baseUrl: url });
for (;;) {
  const { layers } = await caisson.images.gc({ unusedSeconds: 0 });
  if (layers > 0) console.log(`collected ${layers}`);
}
