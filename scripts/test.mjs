// `npm test`: sets the clone up, then runs every check and ends with one line that counts them.
// A check that is not a test of vitest (types, lint, format) counts as one.
import { randomInt } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join, relative } from 'node:path';
import { build, root, run, setup } from './setup.mjs';

const long = process.argv.includes('--long');
const filters = process.argv.slice(2).filter((argument) => argument !== '--long');
const report = join(root, '.cache', long ? 'test-long.json' : 'test.json');
const counts = { passed: 0, failed: 0, skipped: 0 };

function check(name, succeeded) {
  counts[succeeded ? 'passed' : 'failed'] += 1;
  console.log(`${succeeded ? '✓' : '✗'} ${name}`);
  return succeeded;
}

/** Runs vitest over some files, or all; gives whether it was content, and what it says of each file. */
function runVitest(files) {
  mkdirSync(join(root, '.cache'), { recursive: true });
  rmSync(report, { force: true });
  const args = ['run', '--reporter=default', '--reporter=json', `--outputFile.json=${report}`, ...files];
  const succeeded = run('vitest', args, { env: long ? { CAISSON_LONG: '1' } : {} });
  return { succeeded, files: existsSync(report) ? JSON.parse(readFileSync(report, 'utf8')).testResults : undefined };
}

function testAll() {
  const first = runVitest(filters);
  if (first.files === undefined) {
    check('vitest wrote no report', false);
    return;
  }
  const again = tryAgain(first.files.filter((file) => file.status === 'failed').map((file) => file.name));
  const tests = first.files
    .map((file) => again.get(file.name) ?? file)
    .flatMap((file) => file.assertionResults.map((test) => ({ ...test, file: file.name })));
  for (const test of tests) {
    if (test.status === 'passed') counts.passed += 1;
    else if (test.status === 'failed') counts.failed += 1;
    else judgeSkip(test);
  }
  if (!long && filters.length === 0) checkDrivers(tests);
  // A file that cannot be loaded has no tests to count, and an error outside of any test counts nowhere else.
  if (!first.succeeded && again.size === 0 && counts.failed === 0) check('vitest failed outside of its tests', false);
}

/** More files than this do not fail because the machine was busy with something else. */
const fewFiles = 5;

/**
 * On CI the few files that failed run once more, alone: what fails there too is broken, and what does not is told by
 * name, because it hides either a race or a limit that is too tight.
 */
function tryAgain(failed) {
  if (process.env.CI !== 'true' || long || failed.length === 0 || failed.length > fewFiles) return new Map();
  console.log(`running again, alone: ${failed.map((name) => relative(root, name)).join(', ')}`);
  const { succeeded, files } = runVitest(failed);
  if (!succeeded || files === undefined) return new Map();
  for (const name of failed) console.log(`! passed the second time only: ${relative(root, name)}`);
  return new Map(files.map((file) => [file.name, file]));
}

/** What holds for every value is tried with values that no run before had. */
function tryOtherValues(times) {
  const folders = ['packages', 'test'].flatMap((top) =>
    readdirSync(join(root, top), { recursive: true }).map((name) => join(top, name)),
  );
  const files = folders.filter(
    (name) =>
      /(?<!\.long)\.test\.ts$/.test(name) &&
      !name.includes('node_modules') &&
      readFileSync(join(root, name), 'utf8').includes("'fast-check'"),
  );
  for (let time = 0; time < times; time += 1) {
    const seed = String(randomInt(2 ** 31));
    check(`properties with the seed ${seed}`, run('vitest', ['run', ...files], { env: { CAISSON_SEED: seed } }));
  }
}

/** A required driver whose suite did not run at all would otherwise go unnoticed. */
function checkDrivers(tests) {
  for (const name of (process.env.REQUIRE_DRIVERS ?? '').split(',').filter(Boolean)) {
    const ran = tests.some((test) => test.status === 'passed' && test.fullName.startsWith(`driver ${name} `));
    if (!ran) check(`the driver ${name} is required and was not tested`, false);
  }
}

/** On CI a skip is a failure: everything that it should have is installed by the setup. */
function judgeSkip(test) {
  const reason = test.meta?.skipReason ?? 'no reason given';
  const forbidden = process.env.CI === 'true' && test.meta?.skipOnCi !== true;
  counts[forbidden ? 'failed' : 'skipped'] += 1;
  console.log(`${forbidden ? '✗ skipped on CI' : '- skipped'}: ${test.fullName} (${reason})`);
}

setup();
if (check('types and build', await build())) {
  if (!long) {
    check('lint', run('biome', ['lint', '--error-on-warnings', '.']));
    check(
      'format',
      run('biome', ['format', '.']) && run('biome', ['check', '--linter-enabled=false', '.'], { quiet: true }),
    );
  }
  if (long && filters.length === 0) tryOtherValues(10);
  testAll();
}
console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
process.exit(counts.failed === 0 ? 0 : 1);
