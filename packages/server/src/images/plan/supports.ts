import type { SupportFailure, SupportResult, WorkspaceBlueprint } from '@caisson/workspace-composition';
import { harnessRoot } from '../harnesses/commands.ts';
import { whyNoHarness } from '../harnesses/install.ts';
import { findHarness } from '../harnesses/table.ts';
import { refusalOf } from '../packages/refusal.ts';
import type { PackagePlace } from '../packages/resolution.ts';
import { resolvePackage } from '../packages/resolve.ts';
import { isFailure, type PlanPlace, planPlace } from './plan-place.ts';
import { wantedPackages } from './wanted-packages.ts';

/** Everything of a blueprint that cannot be built, at once. Asks nobody: a name that only an index knows passes here. */
export function supportsBlueprint(blueprint: WorkspaceBlueprint): SupportResult {
  const place = planPlace(blueprint);
  if (isFailure(place)) return { ok: false, failures: [place] };
  const failures = [
    ...(place.distribution === undefined ? unknownImage(blueprint) : knownPlace(blueprint, place)),
    ...workspaceFailures(blueprint, place),
  ];
  return failures.length === 0 ? { ok: true } : { ok: false, failures };
}

/** Of an image nothing is known but that it runs: neither its package manager nor its libraries. */
function unknownImage({ tooling, harness, access, customization }: WorkspaceBlueprint): SupportFailure[] {
  const failures: SupportFailure[] = tooling.packages.map((_, index) => ({
    reason: 'unsupported-package',
    path: `tooling.packages[${index}]`,
    message: 'an image may have any package manager; install it in `setup`',
  }));
  if (harness.id !== 'none')
    failures.push({
      reason: 'unsupported-harness',
      path: 'harness.id',
      message: 'an image may lack what a harness needs; take one that has it, or a distribution',
    });
  if (access.ssh.enabled)
    failures.push({
      reason: 'unsupported-access-mode',
      path: 'access.ssh',
      message: 'an image may lack an SSH server',
    });
  if (customization.shell !== 'bash')
    failures.push({
      reason: 'unsupported-package',
      path: 'customization.shell',
      message: `an image may lack ${customization.shell}; install it in \`setup\``,
    });
  return failures;
}

function knownPlace(blueprint: WorkspaceBlueprint, place: PackagePlace): SupportFailure[] {
  const failures: SupportFailure[] = [];
  const harness = findHarness(blueprint.harness.id);
  const why = harness && whyNoHarness(harness, { version: blueprint.harness.version, place });
  if (why !== undefined)
    failures.push({
      reason: 'unsupported-harness',
      path: blueprint.harness.version !== undefined && why.includes('exact version') ? 'harness.version' : 'harness.id',
      message: why,
    });
  if (blueprint.access.ssh.enabled && place.distribution === 'nix')
    failures.push({
      reason: 'unsupported-access-mode',
      path: 'access.ssh',
      message: 'Nix without NixOS has no SSH server that is set up',
    });
  for (const wanted of wantedPackages(blueprint, place)) {
    const answer = resolvePackage(wanted, place, undefined, false);
    // Debian has an index to look in, and a name service may know it: what is not found is not for here to say.
    if (answer.status === 'resolved' || answer.status === 'not-found') continue;
    const { message, hint } = refusalOf(answer, place);
    failures.push({
      reason: 'unsupported-package',
      path: wanted.path,
      message: hint === undefined ? message : `${message}. ${hint}`,
    });
  }
  return failures;
}

function workspaceFailures({ runtime }: WorkspaceBlueprint, place: PlanPlace): SupportFailure[] {
  const taken = [harnessRoot, ...(place.distribution === 'nix' ? ['/nix'] : [])];
  return taken
    .filter((path) => runtime.workspaceRoot === path || runtime.workspaceRoot.startsWith(`${path}/`))
    .map((path) => ({
      reason: 'unsupported-runtime-requirement',
      path: 'runtime.workspaceRoot',
      message: `\`${path}\` holds programs of the image`,
    }));
}
