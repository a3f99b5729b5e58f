import { repositoryPlacement, type WorkspaceBlueprint } from '@caisson/workspace-composition';
import { findHarness } from '../harnesses/table.ts';
import { distributionFacts } from '../packages/distributions.ts';
import type { ResolvedPackage } from '../packages/resolution.ts';
import type { Draft, PlanFacts } from './make-plan.ts';
import type { WantedPackage } from './wanted-packages.ts';

/** One thing that will be done, and why. */
export interface Explanation {
  readonly topic: 'base' | 'packages' | 'users' | 'harness' | 'inputs' | 'repository' | 'setup' | 'env' | 'launch';
  readonly what: string;
  readonly why: string;
}

export interface ExplainedPackage {
  readonly wanted: WantedPackage;
  readonly found: ResolvedPackage;
}

/** The plan for people, in the order in which things are done. Pure. */
export function explainPlan(
  blueprint: WorkspaceBlueprint,
  facts: PlanFacts,
  { draft }: Draft,
  packages: readonly ExplainedPackage[],
): readonly Explanation[] {
  return [
    baseLine(blueprint, facts, draft.base),
    ...packages.map(packageLine),
    ...draft.users.map(({ name, shell }) =>
      line('users', `${name} has the login shell ${shell}`, 'customization.shell says so'),
    ),
    ...harnessLines(blueprint, facts),
    ...draft.inputs.map(({ id, purpose, mountPath, resolved }) =>
      line(
        'inputs',
        `${id} (${purpose}) is part of the image${mountPath === undefined ? '' : ` at ${mountPath}`}`,
        resolved === undefined
          ? 'the spec has it; its content is looked up when the image is built'
          : 'the spec has it',
      ),
    ),
    ...repositoryLines(blueprint, draft.repository),
    ...draft.steps.map(({ id, run, workingDirectory, shell }) =>
      line('setup', `${id}: ${firstLine(run)}`, `it is the spec's setup, run by ${shell} in ${workingDirectory}`),
    ),
    ...envLines(blueprint, Object.keys(draft.env)),
    ...launchLines(blueprint),
  ];
}

function baseLine({ target }: WorkspaceBlueprint, { place }: PlanFacts, base: Draft['draft']['base']): Explanation {
  const wanted =
    target.os.family === 'auto' ? '`auto` is Debian, which needs no image from elsewhere' : 'target.os says so';
  const pinned = base === null ? 'its digest is known when it is there' : `${base.reference}, pinned as ${base.digest}`;
  if (place.distribution === undefined) return line('base', `the image ${target.os.reference}: ${pinned}`, wanted);
  const { title } = distributionFacts[place.distribution];
  return line('base', `${[title, place.release].filter(Boolean).join(' ')}: ${pinned}`, wanted);
}

function packageLine({ wanted, found }: ExplainedPackage): Explanation {
  const version = found.version === undefined ? '' : ` in version ${found.version}`;
  const checked = found.verified ? '' : '; not checked against an index';
  return line(
    'packages',
    `${wanted.id}: ${found.packageManager} installs ${found.nativeNames.join(', ')}${version}`,
    `${wanted.why} (${wanted.path}); ${found.why}${checked}`,
  );
}

function harnessLines({ harness }: WorkspaceBlueprint, { harness: install }: PlanFacts): Explanation[] {
  const found = findHarness(harness.id);
  if (found === undefined || install === undefined) return [];
  const chosen =
    harness.version === undefined ? 'it is the version that this Caisson is tested with' : 'the spec names the version';
  return install.steps.map(({ why }, index) =>
    line('harness', why, index === install.steps.length - 1 ? chosen : `${found.title} needs Node ${found.nodeMajor}`),
  );
}

function repositoryLines(blueprint: WorkspaceBlueprint, planned: Draft['draft']['repository']): Explanation[] {
  const { workspace } = blueprint.sources;
  const from = workspace.kind === 'git' ? workspace.url : `the ${workspace.kind} of the spec`;
  switch (repositoryPlacement(blueprint)) {
    case 'none':
      return [];
    case 'launch':
      return [
        line(
          'repository',
          `${from} is brought at launch`,
          'no setup step needs it, so a new commit needs no new image',
        ),
      ];
    case 'image': {
      const known = planned === undefined ? null : 'url' in planned ? planned.commit : planned.digest;
      const what = `${from} is part of the image${known ? ` at ${known}` : ''}`;
      return [line('repository', what, 'setup steps work on it')];
    }
  }
}

function envLines({ runtime, lifecycle }: WorkspaceBlueprint, planned: readonly string[]): Explanation[] {
  const names = Object.keys(runtime.env);
  const own = planned.filter((name) => !Object.hasOwn(runtime.env, name));
  const kept = own.length === 0 ? [] : [line('env', own.join(', '), 'the harness keeps its version with it')];
  if (names.length === 0) return kept;
  const why =
    lifecycle.setup.length > 0
      ? 'setup steps see them, so they are part of the image'
      : 'no setup step needs them: they are given at launch, and a change needs no new image';
  return [...kept, line('env', names.join(', '), why)];
}

function launchLines({ lifecycle, harness }: WorkspaceBlueprint): Explanation[] {
  const { steps, foreground } = lifecycle.startup;
  const first = steps.map(({ id, run }) =>
    line('launch', `${id}: ${firstLine(run)}`, 'a startup step; run at launch and no part of the image'),
  );
  if (foreground.kind === 'command')
    return [...first, line('launch', firstLine(foreground.run), 'it runs in the foreground')];
  return harness.id === 'none' ? first : [...first, line('launch', harness.id, 'the harness runs in the foreground')];
}

/** A command may be long and have many lines: the explanation shows where it begins. */
function firstLine(command: string): string {
  const [first = '', ...more] = command.trim().split(/\r?\n/);
  const cut = first.length > 100 ? first.slice(0, 100) : first;
  return cut.length < first.length || more.length > 0 ? `${cut} …` : cut;
}

function line(topic: Explanation['topic'], what: string, why: string): Explanation {
  return { topic, what, why };
}
