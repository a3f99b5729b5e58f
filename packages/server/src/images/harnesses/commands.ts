import type { Harness } from './harness.ts';

/** Where harnesses and the Node that they need are installed: no package of any distribution owns it. */
export const harnessRoot = '/opt/caisson';

export interface HarnessCommand {
  readonly argv: readonly [string, ...string[]];
  /** Written to the standard input, which is closed after it. */
  readonly stdin?: string;
}

/** The session that a person sees. */
export function launchCommand(harness: Harness, profile?: string, root = harnessRoot): HarnessCommand {
  return { argv: [program(harness, root), ...harness.launch, ...profileOf(harness, profile)] };
}

/** One prompt: the answer comes on the standard output, and the command ends. */
export function oneShotCommand(harness: Harness, prompt: string, profile?: string, root = harnessRoot): HarnessCommand {
  const [verb, ...rest] = harness.oneShot;
  const options = [...(verb === undefined ? [] : [verb]), ...profileOf(harness, profile), ...rest];
  return { argv: [program(harness, root), ...options], stdin: prompt };
}

export function versionCommand(harness: Harness, root = harnessRoot): HarnessCommand {
  return { argv: [program(harness, root), '--version'] };
}

function program(harness: Harness, root: string): string {
  return `${root}/bin/${harness.command}`;
}

/** Joined to its option, so that no profile is taken for one. */
function profileOf(harness: Harness, profile: string | undefined): readonly string[] {
  return profile === undefined ? [] : [`${harness.profileOption}=${profile}`];
}
