import { CaissonError, type WorkspaceBlueprint } from '@caisson/contract';

type Workspace = WorkspaceBlueprint['sources']['workspace'];
type Input = WorkspaceBlueprint['sources']['inputs'][number];
/** Somewhere that files come from, in the workspace or beside it. */
export type Source = Exclude<Workspace, { kind: 'none' }> | Input;
export type GitSource = Extract<Source, { kind: 'git' }>;

/** A source, where it stands in the blueprint, and what a person calls it. */
export interface NamedSource<S extends Source = Source> {
  readonly source: S;
  readonly path: string;
  readonly name: string;
}

export function namedWorkspace({ sources: { workspace } }: WorkspaceBlueprint): NamedSource | undefined {
  if (workspace.kind === 'none') return undefined;
  const nouns = { git: 'the repository', folder: 'the folder', archive: 'the archive' };
  return { source: workspace, path: 'sources.workspace', name: `${nouns[workspace.kind]} ${placeOf(workspace)}` };
}

export function namedInputs({ sources }: WorkspaceBlueprint): readonly NamedSource<Input>[] {
  return sources.inputs.map((source, index) => ({
    source,
    path: `sources.inputs[${index}]`,
    name: `the input ${source.id} (${placeOf(source)})`,
  }));
}

/** What may go wrong with a source, or with the room that it is unpacked in. */
const named = /^(?:source_|disk_quota|storage_full|driver_|guest_|instance_|image_|registry_|build_failed)/;

/** Does something for a source; what goes wrong names it. */
export async function naming<T>({ name }: Pick<NamedSource, 'name'>, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof CaissonError) || !named.test(error.code)) throw error;
    const { code, message, problems, hint, context } = error;
    const more = hint === undefined ? {} : { hint };
    throw new CaissonError(code, `${name}: ${message}`, {
      ...{ problems, cause: error, ...more },
      context: { ...context, source: name },
    });
  }
}

function placeOf(source: Source): string {
  if (source.kind === 'git') return source.url;
  if (source.kind === 'folder') return source.path;
  return source.url ?? source.path ?? '';
}

export function isGit(named: NamedSource): named is NamedSource<GitSource> {
  return named.source.kind === 'git';
}
