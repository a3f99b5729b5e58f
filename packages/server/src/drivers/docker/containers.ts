import type { Duplex } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { CaissonError, hasCode } from '@caisson/contract';
import type { InstanceStats } from '../driver.ts';
import { type Engine, wordsOf } from './engine.ts';
import {
  type Container,
  containerForm,
  containersForm,
  type ListedContainer,
  madeForm,
  statsForm,
} from './engine-answers.ts';
import { ExecStream, joinPieces } from './exec-stream.ts';

/** What a kernel takes that frees much memory, and a disk that is busy. */
const endMs = 60_000;
/** A name that an earlier removal holds is free soon. */
const goneMs = 20_000;
const lookMs = 50;
/** A mount of it that another program copied when it began: it goes with that program, or soon after its start. */
const busyForm = /device or resource busy|failed to remove root filesystem/i;

/** The calls about containers, by name. What is not there is undefined or `instance_lost`, as it fits. */
export class Containers {
  readonly #engine: Engine;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  async inspect(name: string, signal: AbortSignal): Promise<Container | undefined> {
    const { status, body } = await this.#engine.call('GET', `/containers/${name}/json`, {
      form: containerForm,
      accept: [404],
      withinMs: 10_000,
      signal,
    });
    return status === 404 ? undefined : body;
  }

  /** How much of its files is its own, by what they claim to be long; undefined when the engine does not tell. */
  async ownBytes(name: string, signal: AbortSignal): Promise<number | undefined> {
    const call = { form: containerForm, query: { size: true }, withinMs: endMs, signal };
    return (await this.#engine.call('GET', `/containers/${name}/json`, call)).body.SizeRw ?? undefined;
  }

  async list(filters: Readonly<Record<string, readonly string[]>>, signal: AbortSignal): Promise<ListedContainer[]> {
    const query = { all: true, filters: JSON.stringify(filters) };
    return (await this.#engine.call('GET', '/containers/json', { form: containersForm, query, signal })).body;
  }

  async create(name: string, config: unknown, signal: AbortSignal): Promise<void> {
    const call = { query: { name }, body: config, signal, accept: [404] };
    const { status, body } = await this.#engine.call('POST', '/containers/create', call);
    if (status === 404) throw new CaissonError('image_not_found', `the engine has no such image: ${wordsOf(body)}`);
  }

  async start(name: string, signal: AbortSignal): Promise<void> {
    await this.#engine.call('POST', `/containers/${name}/start`, { signal, withinMs: endMs });
  }

  /** Ends every process and keeps the rest. */
  async stop(name: string, signal: AbortSignal): Promise<void> {
    await this.#engine.call('POST', `/containers/${name}/stop`, {
      query: { t: 0 },
      accept: [304, 404],
      withinMs: endMs,
      signal,
    });
  }

  async rename(from: string, to: string, signal: AbortSignal): Promise<void> {
    await this.#engine.call('POST', `/containers/${from}/rename`, { query: { name: to }, signal });
  }

  async pause(name: string, signal: AbortSignal): Promise<void> {
    await this.#engine.call('POST', `/containers/${name}/pause`, { signal });
  }

  async unpause(name: string, signal: AbortSignal): Promise<void> {
    await this.#engine.call('POST', `/containers/${name}/unpause`, { signal });
  }

  /** It is gone when this returns, whoever removed it. */
  async remove(name: string, signal: AbortSignal): Promise<void> {
    const deadline = Date.now() + goneMs;
    while (!(await this.#isRemoved(name, signal, deadline))) {
      if (Date.now() > deadline) throw new CaissonError('driver_timeout', `the engine does not remove ${name}`);
      await delay(lookMs, undefined, { signal });
    }
  }

  /** Tries it; false while somebody else is at it, or something of the machine still looks at its files. */
  async #isRemoved(name: string, signal: AbortSignal, deadline: number): Promise<boolean> {
    try {
      const { status } = await this.#engine.call('DELETE', `/containers/${name}`, {
        query: { force: true, v: true },
        accept: [404, 409],
        withinMs: endMs,
        signal,
      });
      return status !== 409 || (await this.inspect(name, signal)) === undefined;
    } catch (error) {
      if (hasCode(error, 'driver_failed') && busyForm.test(error.message) && Date.now() < deadline) return false;
      throw error;
    }
  }

  async stats(name: string, signal: AbortSignal): Promise<InstanceStats> {
    const call = { form: statsForm, query: { stream: false, 'one-shot': true }, signal };
    const { cpu_stats, memory_stats, pids_stats } = (await this.#engine.call('GET', `/containers/${name}/stats`, call))
      .body;
    return {
      cpuSeconds: (cpu_stats?.cpu_usage?.total_usage ?? 0) / 1e9,
      memoryBytes: memory_stats?.usage ?? 0,
      processes: pids_stats?.current ?? 0,
    };
  }

  /** The last lines of what its first process said. */
  async logs(name: string, lines: number, signal: AbortSignal): Promise<string[]> {
    const query = { stdout: true, stderr: true, tail: lines };
    const { body } = await this.#engine.call('GET', `/containers/${name}/logs`, { query, signal });
    const text = Buffer.isBuffer(body) ? joinPieces(body).toString() : '';
    return text
      .split('\n')
      .filter((line) => line.trim() !== '')
      .slice(-lines)
      .map((line) => line.slice(0, 500));
  }

  /** What its first process reads. */
  async stdin(name: string, signal: AbortSignal): Promise<Duplex> {
    const stream = await this.#engine.upgrade(`/containers/${name}/attach`, {
      query: { stream: true, stdin: true },
      signal,
    });
    stream.on('error', () => {});
    stream.resume();
    return stream;
  }

  /** Runs a program as root inside and gives its stream. */
  async exec(name: string, command: readonly string[], signal: AbortSignal): Promise<ExecStream> {
    const body = { Cmd: command, User: '0:0', AttachStdin: true, AttachStdout: true, AttachStderr: true, Tty: false };
    const made = await this.#engine.call('POST', `/containers/${name}/exec`, { form: madeForm, body, signal });
    const path = `/exec/${made.body.Id}/start`;
    return new ExecStream(await this.#engine.upgrade(path, { body: { Detach: false, Tty: false }, signal }));
  }
}
