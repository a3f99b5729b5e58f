import { CaissonError } from '@caisson/contract';
import { type BackendImage, ownImages } from '../driver.ts';
import { ownerOf } from './container-config.ts';
import type { Engine } from './engine.ts';
import { imageForm, imagesForm } from './engine-answers.ts';
import { saysFull } from './engine-error.ts';

/** A large image over a slow line. */
const loadMs = 900_000;
const commitMs = 300_000;
/** The first question of each launch: an engine that hangs is found out by it. */
const lookMs = 10_000;

/** The calls about images. A name is a reference, or an id. */
export class EngineImages {
  readonly #engine: Engine;
  readonly #installation: string;

  constructor(engine: Engine, installation: string) {
    this.#engine = engine;
    this.#installation = installation;
  }

  /** Pinned to its id: whatever the reference means tomorrow. */
  async find(reference: string, signal: AbortSignal): Promise<BackendImage | undefined> {
    const { status, body } = await this.#engine.call('GET', `${pathOf(reference)}/json`, {
      form: imageForm,
      accept: [404, 400],
      withinMs: lookMs,
      signal,
    });
    if (status >= 400) return undefined;
    const id = body.Id.startsWith('sha256:') ? body.Id : `sha256:${body.Id}`;
    const volumes = Object.keys(body.Config?.Volumes ?? {});
    const notice = `The image keeps ${volumes.join(', ')} in volumes of the engine: snapshots do not have them.`;
    return {
      reference: id,
      digest: id,
      env: Object.fromEntries((body.Config?.Env ?? []).map(splitVariable)),
      notices: volumes.length === 0 ? [] : [notice],
      ...(body.Architecture ? { architecture: body.Architecture } : {}),
      ...this.#madeBy(body.Config?.Labels ?? {}, body.RepoTags ?? []),
    };
  }

  /** A commit has the labels of its container; what was brought has a name of ours alone. */
  #madeBy(labels: Readonly<Record<string, string>>, tags: readonly string[]): Pick<BackendImage, 'made'> {
    const installation = labels['caisson.installation'];
    const isOurs = installation !== undefined || tags.some((tag) => tag.startsWith(ownImages));
    // Whoever keeps the engine may give it a name for everybody.
    if (!isOurs || tags.some((tag) => !tag.startsWith(ownImages) && !tag.startsWith('<none>'))) return {};
    return { made: { owner: installation === this.#installation ? ownerOf(labels) : undefined } };
  }

  /** What its layers take together. */
  async bytes(reference: string, signal: AbortSignal): Promise<number> {
    const { body } = await this.#engine.call('GET', `${pathOf(reference)}/json`, { form: imageForm, signal });
    return body.Size ?? 0;
  }

  async has(reference: string, signal: AbortSignal): Promise<boolean> {
    return (await this.find(reference, signal)) !== undefined;
  }

  /** Takes an archive as `docker save` writes it. */
  async load(archive: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<void> {
    const { body } = await this.#engine.upload('POST', '/images/load', archive, {
      query: { quiet: true },
      withinMs: loadMs,
      signal,
    });
    // What goes wrong after it began to answer is told in the answer.
    const said = Buffer.isBuffer(body) ? body.toString('utf8', 0, 4_000) : JSON.stringify(body);
    const failure = /"error"\s*:\s*"([^"]*)/.exec(said)?.[1];
    if (failure === undefined) return;
    const code = saysFull(failure) ? 'storage_full' : 'driver_failed';
    throw new CaissonError(code, `the engine could not load the image: ${failure.slice(0, 500)}`);
  }

  async commit(container: string, target: { repo: string; tag: string }, signal: AbortSignal): Promise<void> {
    const query = { container, ...target, pause: false };
    await this.#engine.call('POST', '/commit', { query, body: {}, withinMs: commitMs, signal });
  }

  /** Answers whether there was such an image. */
  async tag(reference: string, target: { repo: string; tag: string }, signal: AbortSignal): Promise<boolean> {
    const call = { query: target, accept: [404], signal };
    return (await this.#engine.call('POST', `${pathOf(reference)}/tag`, call)).status !== 404;
  }

  /** Answers false for one that is in use; one that is not there is removed already. */
  async remove(reference: string, signal: AbortSignal): Promise<boolean> {
    const call = { accept: [404, 409], signal };
    return (await this.#engine.call('DELETE', pathOf(reference), call)).status !== 409;
  }

  /** The tags of a repository of ours. */
  async tags(repo: string, label: string | undefined, signal: AbortSignal): Promise<string[]> {
    const filters = { reference: [repo], ...(label === undefined ? {} : { label: [label] }) };
    const { body } = await this.#engine.call('GET', '/images/json', {
      form: imagesForm,
      query: { filters: JSON.stringify(filters) },
      signal,
    });
    const all = body.flatMap(({ RepoTags }) => RepoTags ?? []);
    return all.flatMap((name) => (name.startsWith(`${repo}:`) ? [name.slice(repo.length + 1)] : []));
  }
}

/** What is looked up has been checked to be a reference or an id; no part of it can be another path. */
function pathOf(reference: string): string {
  return `/images/${reference.split('/').map(encodeURIComponent).join('/')}`;
}

function splitVariable(variable: string): [string, string] {
  const at = variable.indexOf('=');
  return at === -1 ? [variable, ''] : [variable.slice(0, at), variable.slice(at + 1)];
}
