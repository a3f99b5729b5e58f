import type {
  CaissonEvent,
  Doctor,
  Health,
  InstallationCapabilities,
  JsonRouteName,
  NetworkPreset,
  ProposedPlan,
  SandboxesUsage,
  ToolDescription,
} from '@caisson/contract';
import { Builds } from './builds.ts';
import type { CallAnswer, CallArguments, CallInput, CallOptions } from './call.ts';
import { Connection } from './connection.ts';
import { eventsOf, type ProjectEventOptions } from './events.ts';
import { given } from './given.ts';
import { Hosts } from './hosts.ts';
import { Images } from './images.ts';
import { Keys } from './keys.ts';
import { Pools } from './pools.ts';
import { Profiles } from './profiles.ts';
import { Sandboxes } from './sandboxes.ts';
import { Secrets } from './secrets.ts';
import { Snapshots } from './snapshots.ts';
import type { CaissonOptions } from './transport.ts';

/**
 * A Caisson server.
 *
 *     const caisson = new Caisson({ baseUrl: 'http://127.0.0.1:7300' });
 *     const sandbox = await caisson.sandboxes.create({ spec: { repo: 'https://github.com/example/project.git' } });
 *     for await (const event of sandbox.events({ follow: false })) console.log(event.type);
 *     await sandbox.destroy();
 *
 * Laws
 * - Every failure is a `CaissonError` with a code of the table, but for an abort, which is the signal's own reason.
 * - A request is repeated only where that cannot do anything twice: reading, and routes with an idempotency key.
 */
export class Caisson {
  readonly sandboxes: Sandboxes;
  readonly snapshots: Snapshots;
  readonly images: Images;
  readonly profiles: Profiles;
  readonly keys: Keys;
  readonly pools: Pools;
  readonly hosts: Hosts;
  readonly builds: Builds;
  readonly secrets: Secrets;
  readonly #connection: Connection;

  constructor(options: CaissonOptions = {}) {
    this.#connection = new Connection(options);
    this.sandboxes = new Sandboxes(this.#connection);
    this.snapshots = new Snapshots(this.#connection, this.sandboxes);
    this.images = new Images(this.#connection);
    this.profiles = new Profiles(this.#connection);
    this.keys = new Keys(this.#connection);
    this.pools = new Pools(this.#connection);
    this.hosts = new Hosts(this.#connection);
    this.builds = new Builds(this.#connection);
    this.secrets = new Secrets(this.#connection);
  }

  /** Any route of the API by its name. */
  call<N extends JsonRouteName>(name: N, ...input: CallArguments<N>): Promise<CallAnswer<N>> {
    return this.#connection.call(name, ...input);
  }

  /** Events of the project: live ones without end, or with `follow: false` those of the past. */
  events(options: ProjectEventOptions = {}): AsyncGenerator<CaissonEvent, void, undefined> {
    const page = (query: { after?: string; limit: number; project?: string }, calls: CallOptions) =>
      this.#connection.call('event.list', { query, ...calls });
    return eventsOf(this.#connection.transport, 'event.list', {}, page, options);
  }

  readonly spec = {
    /** The blueprint that a spec stands for; nothing is created. */
    normalize: (
      spec: unknown,
      options: CallOptions & { readonly sourceRequired?: boolean } = {},
    ): Promise<CallAnswer<'spec.normalize'>> => {
      const { sourceRequired = true, ...calls } = options;
      return this.#connection.call('spec.normalize', { body: { spec, sourceRequired }, ...calls });
    },
  };

  /** What would be built for a spec, and why; nothing is built. */
  plan(request: NonNullable<CallInput<'plan.make'>['body']>, options: CallOptions = {}): Promise<ProposedPlan> {
    return this.#connection.call('plan.make', { body: request, ...options });
  }

  /** Every tool, with the schema of what it takes. */
  async tools(options: CallOptions = {}): Promise<ToolDescription[]> {
    return (await this.#connection.call('tool.list', options)).items;
  }

  /** Names that stand for the hosts of a well-known service, to allow or deny them together. */
  async networkPresets(options: CallOptions = {}): Promise<NetworkPreset[]> {
    return (await this.#connection.call('network.presets', options)).items;
  }

  /** Whose key this is and what it may do. */
  whoami(options: CallOptions = {}): Promise<CallAnswer<'system.whoami'>> {
    return this.#connection.call('system.whoami', options);
  }

  version(options: CallOptions = {}): Promise<CallAnswer<'system.version'>> {
    return this.#connection.call('system.version', options);
  }

  /** What this installation can do, for a machine: drivers, runtimes, storage, network modes, profiles, limits. */
  capabilities(options: CallOptions = {}): Promise<InstallationCapabilities> {
    return this.#connection.call('capabilities.get', options);
  }

  /** How the server does, with what it was judged by and what to do about it; for keys with the scope `admin`. */
  health(options: CallOptions = {}): Promise<Health> {
    return this.#connection.call('system.health', options);
  }

  /** What the sandboxes of the project that run use at the moment. */
  usage(options: CallOptions & { readonly limit?: number | undefined } = {}): Promise<SandboxesUsage> {
    const { limit, ...calls } = options;
    return this.#connection.call('usage.list', { query: given({ limit }), ...calls });
  }

  /** What this installation can do, what it cannot, and what would change that. */
  doctor(options: CallOptions = {}): Promise<Doctor> {
    return this.#connection.call('system.doctor', options);
  }
}
