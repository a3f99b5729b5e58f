import { totalmem } from 'node:os';
import { CaissonError, newId } from '@caisson/contract';
import { normalizeUserWorkspaceSpec } from '@caisson/workspace-composition';
import type { Driver } from '../../drivers/driver.ts';
import type { BuilderTrouble } from '../../images/builders/builder.ts';
import type { RoomRequest, StepRoom, StepRooms } from '../../images/builders/native/step-room.ts';
import { listenInside } from '../../network/open-doors.ts';
import type { EgressGates } from '../../network/proxy/egress-gates.ts';
import { proxyEnv } from '../../network/proxy-ports.ts';
import { bringTrust, trustEnvironment } from '../../network/secrets/trust.ts';
import type { Storage } from '../../storage/storage.ts';
import { Spans } from '../../telemetry/spans.ts';
import { withDeadline } from '../deadline.ts';
import { roomLabels } from '../healing/instance-labels.ts';
import type { Runner } from '../runner.ts';
import type { Deadlines } from '../work-context.ts';
import { BuildRoom } from './build-room.ts';
import type { RoomSubjects } from './room-subjects.ts';

const mebibyte = 1024 * 1024;
/** Compilers want more than a sandbox; half of the machine is left to those. */
const resources = { memoryMiB: Math.max(512, Math.floor(totalmem() / mebibyte / 2)), pids: 4_096 };

/** What an instance is asked for: nothing of it is in the tree that the step sees. */
const blueprint = normalizeUserWorkspaceSpec({ source: { kind: 'none' } });

export interface BuildRoomsParts {
  readonly storage: Storage;
  /** One whose filesystem is ours, with a guest. */
  readonly driver: Driver;
  readonly subjects: RoomSubjects;
  readonly gates: Pick<EgressGates, 'forget'>;
  readonly runner: Pick<Runner, 'whileIdle'>;
  readonly deadlines: Deadlines;
  readonly installation: string;
  readonly spans?: Spans | undefined;
  /** An authority that steps trust besides those of their image, as PEM. Nothing of it stays in what they make. */
  readonly authority?: string | undefined;
}

/**
 * Rooms of builds as sandboxes without a record. Whatever a killed server leaves of them is what no record wants, and the
 * reconciler removes it; while they live here, the runner says that somebody is at work on them.
 */
export class BuildRooms implements StepRooms {
  readonly #parts: BuildRoomsParts;
  readonly #rooms = new Set<BuildRoom>();
  readonly #spans: Spans;
  #closed = false;

  constructor(parts: BuildRoomsParts) {
    this.#parts = parts;
    this.#spans = parts.spans ?? new Spans();
  }

  async probe(signal: AbortSignal): Promise<BuilderTrouble | undefined> {
    const found = await this.#parts.driver.probe(signal);
    return found.usable ? undefined : { why: found.why, fix: found.fix };
  }

  open(request: RoomRequest, signal: AbortSignal): Promise<StepRoom> {
    return this.#spans.run('build.room', { driver: this.#parts.driver.name }, () => this.#open(request, signal));
  }

  async #open(request: RoomRequest, signal: AbortSignal): Promise<StepRoom> {
    const { storage, driver, deadlines, subjects, gates, installation, authority } = this.#parts;
    signal.throwIfAborted();
    if (this.#closed) throw new CaissonError('shutting_down', 'the server ends, and begins no step of a build');
    const key = { sandbox: newId('sandbox'), incarnation: 1 };
    const letGo = this.#hold(key.sandbox);
    const room = new BuildRoom({
      ...{ key, storage, driver, deadlines, spans: this.#spans },
      onDisposed: () => {
        subjects.leave(key.sandbox);
        gates.forget(key.sandbox);
        this.#rooms.delete(room);
        letGo();
      },
    });
    this.#rooms.add(room);
    subjects.enter({ sandbox: key.sandbox, owner: request.owner, rules: request.rules });
    try {
      const rootfs = await withDeadline('preparing a build room', deadlines.prepareMs, signal, (inner) =>
        storage.prepare(
          {
            sandbox: key.sandbox,
            image: request.parent,
            quotaBytes: request.diskBytes,
            isFleeting: true,
            ownIds: driver.ownIds?.(blueprint) ?? driver.capabilities.userNamespace,
          },
          inner,
        ),
      );
      const isConnected = request.rules.mode !== 'off';
      await withDeadline('launching a build room', deadlines.launchMs, signal, async (inner) => {
        const trusting = isConnected ? authority : undefined;
        const outward = { ...(isConnected ? proxyEnv : {}), ...(trusting === undefined ? {} : trustEnvironment()) };
        const env = { ...outward, ...request.env };
        const labels = roomLabels(installation);
        const { owner } = request;
        await driver.create({ key, owner, labels, blueprint, rootfs, resources, env, isBare: true }, inner);
        if (isConnected) await listenInside(await room.guest(inner), inner);
        if (trusting !== undefined) await bringTrust(await room.guest(inner), trusting, inner);
      });
      return room;
    } catch (error) {
      await room.dispose();
      throw error;
    }
  }

  /** Ends every room that is left, and lets nobody open another. */
  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#rooms].map((room) => room.dispose()));
  }

  /** Until it is let go, nobody else removes what no record wants of it. */
  #hold(room: Parameters<Runner['whileIdle']>[0]): () => void {
    let letGo = () => {};
    const held = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    void this.#parts.runner.whileIdle(room, () => held);
    return letGo;
  }
}
