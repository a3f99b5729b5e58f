import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

/** Where numbers of what is run for others come from, asked for when somebody looks. None of them names anybody. */
export interface ServiceSources {
  credits(): Promise<{
    readonly micros: Readonly<Record<string, number>>;
    readonly tenants: Readonly<Record<string, number>>;
  }>;
  movements(): Promise<Readonly<Record<string, number>>>;
  /** Undefined where nobody is told of usage. */
  untoldUsage(): Promise<number | undefined>;
  dueLeases(): Promise<{ readonly due: number; readonly oldestSeconds: number }>;
  quotas(): Promise<Readonly<Record<string, { readonly share: number; readonly full: number }>>>;
  audit(): AuditNumbers;
  webhooks(): WebhookNumbers;
}

export interface AuditNumbers {
  /** Lines that are in a file and not in the store yet. */
  readonly waiting: number;
  readonly written: number;
  /** Batches that the store did not take; each is tried again. */
  readonly failures: number;
}

export interface WebhookNumbers {
  readonly webhooks: number;
  /** The most that one of them is behind the log, in positions. */
  readonly behind: number;
  /** Since when the oldest waits that was read and is not delivered. */
  readonly oldestSeconds: number;
  /** Subjects that wait for another try. */
  readonly held: number;
}

export type LeaseChange = 'extended' | 'extension-refused' | 'expired' | 'idle' | 'failed';
export type DeliveryOutcome = 'delivered' | 'failed' | 'dead';

/** From what is on time to what nobody would wait for. */
const lateBuckets = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60, 300, 3_600];

/** Credits, quotas, leases, webhooks and the audit log, in numbers. */
export class ServiceMetrics {
  readonly #leases: Counter<'change'>;
  readonly #lateness: Histogram<'why'>;
  readonly #deliveries: Counter<'outcome'>;
  readonly #deliverySeconds: Histogram;
  readonly #refusals: Counter<'code'>;

  constructor(registers: Registry[], sources: ServiceSources) {
    this.#refusals = new Counter({
      name: 'caisson_refusals_total',
      help: 'Requests that were answered with a problem, by its code.',
      labelNames: ['code'],
      registers,
    });
    this.#leases = new Counter({
      name: 'caisson_lease_changes_total',
      help: 'Leases that were extended, whose extension was refused, that ended, or that could not be ended.',
      labelNames: ['change'],
      registers,
    });
    this.#lateness = new Histogram({
      name: 'caisson_lease_lateness_seconds',
      help: 'From the time at which a lease ends to when its sandbox is as its terms say.',
      labelNames: ['why'],
      buckets: lateBuckets,
      registers,
    });
    this.#deliveries = new Counter({
      name: 'caisson_webhook_deliveries_total',
      help: 'Deliveries to webhooks: delivered, failed (tried again), dead (given up).',
      labelNames: ['outcome'],
      registers,
    });
    this.#deliverySeconds = new Histogram({
      name: 'caisson_webhook_delivery_seconds',
      help: 'From an event to its receiver.',
      buckets: lateBuckets,
      registers,
    });
    const add = (name: string, help: string, label: string | undefined, read: Read) =>
      gauge(registers, name, help, label, read);
    add('caisson_credit_micros', 'Credits of all tenants together, in micro-units.', 'account', async () =>
      Object.entries((await sources.credits()).micros),
    );
    add(
      'caisson_credit_tenants',
      'Tenants that have credits: paying, empty (nothing is available), off (they pay nothing).',
      'standing',
      async () => Object.entries((await sources.credits()).tenants),
    );
    add('caisson_credit_movements', 'Movements of credits since the start, by kind.', 'kind', async () =>
      Object.entries(await sources.movements()),
    );
    add('caisson_usage_untold', 'Records that the usage hook has not told yet.', undefined, async () =>
      alone(await sources.untoldUsage()),
    );
    add('caisson_leases_due', 'Leases that should have ended and have not.', undefined, async () =>
      alone((await sources.dueLeases()).due),
    );
    add('caisson_lease_oldest_due_seconds', 'How late the oldest of these is.', undefined, async () =>
      alone((await sources.dueLeases()).oldestSeconds),
    );
    add('caisson_quota_share', 'The largest share of its quota that a tenant or project uses.', 'resource', async () =>
      Object.entries(await sources.quotas()).map(([name, { share }]) => [name, share] as const),
    );
    add('caisson_quotas_full', 'Tenants and projects that use all of a quota.', 'resource', async () =>
      Object.entries(await sources.quotas()).map(([name, { full }]) => [name, full] as const),
    );
    add('caisson_audit_waiting', 'Audit lines that are not in the store yet.', undefined, () =>
      alone(sources.audit().waiting),
    );
    add('caisson_audit_lines', 'Audit lines written to the store since the start.', undefined, () =>
      alone(sources.audit().written),
    );
    add('caisson_audit_failures', 'Writes of the audit log that the store did not take.', undefined, () =>
      alone(sources.audit().failures),
    );
    add('caisson_webhooks', 'Webhooks that there are.', undefined, () => alone(sources.webhooks().webhooks));
    add('caisson_webhook_behind', 'Positions of the log that the slowest webhook is behind.', undefined, () =>
      alone(sources.webhooks().behind),
    );
    add('caisson_webhook_oldest_seconds', 'How long the oldest event waits to be delivered.', undefined, () =>
      alone(sources.webhooks().oldestSeconds),
    );
    add('caisson_webhook_held', 'Subjects whose events wait for another try.', undefined, () =>
      alone(sources.webhooks().held),
    );
  }

  refused(code: string): void {
    this.#refusals.inc({ code });
  }

  leaseChanged(change: LeaseChange): void {
    this.#leases.inc({ change });
  }

  leaseEnded(why: 'expired' | 'idle', lateMs: number): void {
    this.#leases.inc({ change: why });
    this.#lateness.observe({ why }, Math.max(0, lateMs) / 1000);
  }

  /** `ageMs`: since its event. */
  delivery(outcome: DeliveryOutcome, ageMs: number): void {
    this.#deliveries.inc({ outcome });
    if (outcome === 'delivered') this.#deliverySeconds.observe(Math.max(0, ageMs) / 1000);
  }
}

type Values = Iterable<readonly [label: string, value: number]>;
type Read = () => Values | Promise<Values>;

function alone(value: number | undefined): Values {
  return value === undefined ? [] : [['', value]];
}

function gauge(registers: Registry[], name: string, help: string, label: string | undefined, read: Read): void {
  new Gauge<string>({
    name,
    help,
    labelNames: label === undefined ? [] : [label],
    registers,
    async collect() {
      // A database that is away must not take the other numbers with it.
      const values = await Promise.resolve()
        .then(read)
        .catch(() => []);
      this.reset();
      for (const [value, count] of values) this.set(label === undefined ? {} : { [label]: value }, count);
    },
  });
}
