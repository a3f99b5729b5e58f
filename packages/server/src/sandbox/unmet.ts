import type { WorkspaceBlueprint } from '@caisson/contract';

/** What of a blueprint is not done yet by anything. Whoever wrote it must not believe that it was. */
export function unmetNotices(blueprint: WorkspaceBlueprint): string[] {
  const { harness, tooling, lifecycle } = blueprint;
  const parts: [boolean, string][] = [
    [harness.id !== 'none', `the harness ${harness.id}`],
    [tooling.packages.length > 0, 'its packages'],
    [lifecycle.setup.length > 0, 'its setup steps'],
    [lifecycle.startup.steps.length > 0 || lifecycle.startup.foreground.kind === 'command', 'its startup'],
  ];
  const unmet = parts.flatMap(([asked, name]) => (asked ? [name] : []));
  if (unmet.length === 0) return [];
  return [`Not done yet by this version: ${unmet.join(', ')}. The sandbox begins from its base alone.`];
}
