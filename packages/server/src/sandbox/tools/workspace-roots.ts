import type { Sandbox, WorkspaceBlueprint } from '@caisson/contract';
import type { AttemptStore } from '../../store/attempts.ts';

const usual = '/workspace';
/** As many as are in use at once on a busy host; the rest is read again. */
const maxKnown = 1_000;

/** Where the workspace of each sandbox is. An attempt never changes what it was given, so it is read once. */
export class WorkspaceRoots {
  readonly #attempts: AttemptStore;
  readonly #known = new Map<string, string>();

  constructor(attempts: AttemptStore) {
    this.#attempts = attempts;
  }

  async of({ attempt }: Sandbox): Promise<string> {
    if (attempt === null) return usual;
    const known = this.#known.get(attempt);
    if (known !== undefined) return known;
    const blueprint = (await this.#attempts.get(attempt))?.blueprint as WorkspaceBlueprint | undefined;
    const root = blueprint?.runtime.workspaceRoot ?? usual;
    if (this.#known.size >= maxKnown) this.#known.clear();
    this.#known.set(attempt, root);
    return root;
  }
}
