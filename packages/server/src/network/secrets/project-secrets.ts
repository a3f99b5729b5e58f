import { CaissonError } from '@caisson/contract';
import type { SecretPlace, SecretStore, StoredSecret } from '../../store/secrets.ts';
import type { OpenSecret } from './apply-secrets.ts';
import type { Vault } from './vault.ts';

/** A secret that could be opened, and where it may go. */
export type LiveSecret = OpenSecret & Pick<StoredSecret, 'domains' | 'ports' | 'env'>;

export interface LiveSecrets {
  /** By name. Always as they are now: whoever holds it sees a change at once. */
  readonly byName: ReadonlyMap<string, LiveSecret>;
  /** Those that are stored and do not open. */
  readonly unreadable: ReadonlySet<string>;
}

/** What a value is sealed under: whoever changes the row moves no value to another name or another host. */
export function sealedUnder({
  tenant,
  project,
  name,
  domains,
  ports,
  header,
}: Omit<StoredSecret, 'sealed' | 'placeholder' | 'env'>) {
  return ['secret', tenant, project, name, domains, ports, header?.name ?? null, header?.format ?? null];
}

/**
 * The secrets of each project, opened, in memory. This server is the only one on its data, so what it changes itself is
 * all that changes. A project stays from its first use on: it holds no more than the database does.
 */
export class ProjectSecrets {
  readonly #store: SecretStore;
  readonly #vault: Vault;
  readonly #unreadable: (secret: StoredSecret, error: CaissonError) => void;
  readonly #projects = new Map<string, Project>();

  constructor(
    store: SecretStore,
    vault: Vault,
    unreadable: (secret: StoredSecret, error: CaissonError) => void = () => {},
  ) {
    this.#store = store;
    this.#vault = vault;
    this.#unreadable = unreadable;
  }

  async of(place: SecretPlace): Promise<LiveSecrets> {
    const project = this.#project(place);
    if (!project.isFresh) await this.#load(place, project);
    return project;
  }

  /** Answers when everybody who holds the project's secrets sees what the store has now. */
  async changed(place: SecretPlace): Promise<void> {
    const project = this.#projects.get(keyOf(place));
    if (project) await this.#load(place, project);
  }

  #project(place: SecretPlace): Project {
    const key = keyOf(place);
    const known = this.#projects.get(key);
    if (known) return known;
    const project: Project = { byName: new Map(), unreadable: new Set(), isFresh: false, loading: Promise.resolve() };
    this.#projects.set(key, project);
    return project;
  }

  /** One after the other, so that the last to write is the last to look. */
  async #load(place: SecretPlace, project: Project): Promise<void> {
    const load = async () => {
      try {
        const rows = await this.#store.sealed(place);
        project.byName = new Map(rows.flatMap((row) => this.#opened(row)));
        project.unreadable = new Set(rows.map(({ name }) => name).filter((name) => !project.byName.has(name)));
        project.isFresh = true;
      } catch (error) {
        // A store that does not answer leaves no secrets, rather than old ones.
        project.byName = new Map();
        project.isFresh = false;
        throw error;
      }
    };
    const loading = project.loading.then(load, load);
    project.loading = loading.catch(() => {});
    await loading;
  }

  #opened(row: StoredSecret): [string, LiveSecret][] {
    const { name, domains, ports, header, placeholder, env } = row;
    try {
      const value = this.#vault.open(row.sealed, sealedUnder(row));
      return [[name, { name, value, header, placeholder, domains, ports, env }]];
    } catch (error) {
      if (!(error instanceof CaissonError)) throw error;
      this.#unreadable(row, error);
      return [];
    }
  }
}

interface Project extends LiveSecrets {
  byName: ReadonlyMap<string, LiveSecret>;
  unreadable: ReadonlySet<string>;
  isFresh: boolean;
  loading: Promise<void>;
}

function keyOf({ tenant, project }: SecretPlace): string {
  return JSON.stringify([tenant, project]);
}
