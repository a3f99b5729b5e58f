import type { WorkspaceBlueprint } from '@caisson/contract';

/** What this server does of a blueprint beyond its base. */
export interface Abilities {
  readonly builds: boolean;
  readonly sources: boolean;
}

/** What of a blueprint is not done here. Whoever wrote it must not believe that it was. */
export function unmetNotices(blueprint: WorkspaceBlueprint, does: Abilities): string[] {
  const { sources, harness, tooling, lifecycle } = blueprint;
  const parts: [boolean, string][] = [
    [!does.sources && sources.workspace.kind !== 'none', 'its source'],
    [!does.sources && sources.inputs.length > 0, 'its inputs'],
    [!does.builds && harness.id !== 'none', `the harness ${harness.id}`],
    [!does.builds && tooling.packages.length > 0, 'its packages'],
    [!does.builds && lifecycle.setup.length > 0, 'its setup steps'],
  ];
  const unmet = parts.flatMap(([asked, name]) => (asked ? [name] : []));
  if (unmet.length === 0) return [];
  return [`Not done by this server: ${unmet.join(', ')}. The sandbox begins without.`];
}
