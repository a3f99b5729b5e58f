import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { apiBenchmark, listBenchmark } from './api.ts';
import { buildBenchmark } from './build.ts';
import { busyBenchmark } from './busy.ts';
import { coldBenchmark } from './cold.ts';
import { dockerDriverBenchmark } from './docker-driver.ts';
import { egressBenchmark } from './egress.ts';
import { execBenchmark } from './exec.ts';
import { guestBenchmark } from './guest.ts';
import { idleBenchmark } from './idle.ts';
import { leaseBenchmark } from './lease.ts';
import { previewBenchmark } from './preview.ts';
import { registryBenchmark } from './registry.ts';
import { Report } from './report.ts';
import { routeBenchmark } from './route.ts';
import { specBenchmark } from './spec.ts';
import { createBenchmark, startBenchmark } from './start.ts';
import { transferBenchmark } from './transfer.ts';
import { travelBenchmark } from './travel.ts';
import { warmBenchmark } from './warm.ts';
import { webhookBenchmark } from './webhook.ts';

const benchmarks = [
  specBenchmark,
  routeBenchmark,
  createBenchmark,
  apiBenchmark,
  listBenchmark,
  startBenchmark,
  guestBenchmark,
  execBenchmark,
  coldBenchmark,
  dockerDriverBenchmark,
  warmBenchmark,
  transferBenchmark,
  travelBenchmark,
  egressBenchmark,
  idleBenchmark,
  previewBenchmark,
  registryBenchmark,
  buildBenchmark,
  leaseBenchmark,
  webhookBenchmark,
  busyBenchmark,
];

const options = { json: { type: 'string' }, thousand: { type: 'boolean', default: false } } as const;
const { values, positionals } = parseArgs({ options, allowPositionals: true });
const chosen = positionals.length === 0 ? benchmarks : benchmarks.filter(({ name }) => positionals.includes(name));
if (chosen.length === 0) {
  console.error(
    `bench: there is no benchmark ${positionals.join(', ')}; there are: ${benchmarks.map(({ name }) => name).join(', ')}`,
  );
  process.exit(2);
}

const report = new Report();
for (const benchmark of chosen) {
  console.error(`bench: ${benchmark.name}`);
  try {
    await benchmark.run(report, values);
  } catch (error) {
    // What the others find is worth having.
    console.error(`bench: ${benchmark.name} failed:`, error);
    process.exitCode = 1;
  }
}
for (const [name, value] of Object.entries({ ...report.metrics, ...report.ratios }))
  console.log(`${name.padEnd(32)} ${value}`);
if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(report, null, 2)}\n`);
