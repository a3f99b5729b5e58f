import type { Sandbox } from '@caisson/contract';
import type { Driver, InstanceKey, ListedInstance, Listing } from '../../drivers/driver.ts';
import { end, haltOrEnd } from '../end.ts';
import type { Runner } from '../runner.ts';
import { isWanted } from '../wanted.ts';
import type { WorkContext } from '../work-context.ts';
import { adopt } from './adopt.ts';
import type { GraceLook } from './grace.ts';
import { isRoom, isStranger } from './instance-labels.ts';
import type { RepairLog } from './repair.ts';

/** What a pass knows while it looks at instances. */
export interface UnownedPass {
  readonly log: RepairLog;
  readonly grace: GraceLook;
  readonly graceSeconds: number;
  readonly signal: AbortSignal;
  /** Gets the sandboxes that still have an instance without a record: their files are in use. */
  readonly standing: Set<string>;
  /** Gets the rooms that were ended: nobody wants their files. */
  readonly rooms: Set<string>;
}

/**
 * Instances that no settled record wants.
 *
 * - One whose record says that it has none is ended at once. So is a room, which is nothing without who made it.
 * - One without a record gets one again, where its papers and its tenant allow it.
 * - What is left is nobody's: it is told, and ended when its grace time is over.
 * - What belongs to another installation, or cannot be named, is told and never touched.
 */
export class Unowned {
  readonly #work: WorkContext;
  readonly #runner: Runner;
  readonly #told = new Set<string>();

  constructor(work: WorkContext, runner: Runner) {
    this.#work = work;
    this.#runner = runner;
  }

  async pass(driver: Driver, listing: Listing, wanted: ReadonlySet<string>, pass: UnownedPass): Promise<void> {
    const others = listing.instances.filter(({ key }) => !wanted.has(instanceName(key)));
    // Of two instances of one sandbox the one that runs is adopted, and of those the newer one.
    others.sort((a, b) => Number(a.ended) - Number(b.ended) || b.key.incarnation - a.key.incarnation);
    for (const instance of others) await this.#look(driver, instance.key, instance.labels, pass, instance);
    for (const { key, backendName, labels = {} } of listing.orphans) {
      if (key) await this.#look(driver, key, labels, pass);
      else await this.#report(driver, backendName, 'an instance without an owner or a name', pass);
    }
  }

  async #look(
    driver: Driver,
    key: InstanceKey,
    labels: Readonly<Record<string, string>>,
    pass: UnownedPass,
    instance?: ListedInstance,
  ): Promise<void> {
    const name = instanceName(key);
    if (isStranger(labels, this.#work.installation)) {
      pass.standing.add(key.sandbox);
      return this.#report(driver, name, 'an instance of another installation', pass);
    }
    await this.#runner.whileIdle(key.sandbox, async () => {
      const record = await this.#work.store.sandboxes.get(key.sandbox);
      if (record) return this.#endUnwanted(driver, key, record, pass);
      if (isRoom(labels)) {
        pass.rooms.add(key.sandbox);
        return this.#end(driver, key, 'unwanted', 'a room that an earlier server left', pass);
      }
      const why = instance ? await this.#adopt(driver, instance, pass) : 'it does not say whose it is';
      if (why !== undefined) await this.#endAfterGrace(driver, key, why, pass);
    });
  }

  /** Why it could not be adopted; undefined when it was. */
  async #adopt(driver: Driver, instance: ListedInstance, { log }: UnownedPass): Promise<string | undefined> {
    const outcome = await adopt(this.#work, driver, instance);
    if ('why' in outcome) return outcome.why;
    const { id } = outcome.adopted;
    const found = 'an instance without a record, with papers';
    await log.tell({ kind: 'adopted', sandbox: id, driver: driver.name, found, did: 'adopted' });
    return undefined;
  }

  async #endAfterGrace(driver: Driver, key: InstanceKey, why: string, pass: UnownedPass): Promise<void> {
    const found = `an instance without a record: ${why}`;
    const seen = pass.grace.see(graceName(driver.name, key));
    if (seen === 'over') return this.#end(driver, key, 'unowned', found, pass);
    pass.standing.add(key.sandbox);
    if (seen === 'waiting') return;
    const told = `${found}; it is ended in ${pass.graceSeconds} s`;
    const sandbox = instanceName(key);
    await pass.log.tell({ kind: 'unowned', sandbox, driver: driver.name, found: told, did: 'reported' });
  }

  async #endUnwanted(driver: Driver, key: InstanceKey, sandbox: Sandbox, pass: UnownedPass): Promise<void> {
    if (isWanted(sandbox, key, driver.name)) return;
    const isItsOwn = sandbox.driver === driver.name && sandbox.incarnation === key.incarnation;
    const isCurrent = isItsOwn && sandbox.state !== 'destroyed';
    const how = isCurrent ? () => haltOrEnd(this.#work, key, sandbox, pass.signal) : undefined;
    await this.#end(driver, key, 'unwanted', 'an instance that its record does not want', pass, how);
  }

  /** What cannot be ended now is tried again at the next pass. */
  async #end(
    driver: Driver,
    key: InstanceKey,
    kind: 'unowned' | 'unwanted',
    found: string,
    pass: UnownedPass,
    how = () => end(this.#work, key, { driver: driver.name }, pass.signal),
  ): Promise<void> {
    const isEnded = await how().then(
      () => true,
      () => false,
    );
    // By the name that it was told under before.
    const sandbox = kind === 'unowned' ? instanceName(key) : key.sandbox;
    if (isEnded) await pass.log.tell({ kind, sandbox, driver: driver.name, found, did: 'reaped' });
    else pass.standing.add(key.sandbox);
  }

  /** Once: what cannot be ended would be told at every pass. */
  async #report(driver: Driver, name: string, found: string, { log }: UnownedPass): Promise<void> {
    const told = `${driver.name} ${name}`;
    if (this.#told.has(told)) return;
    this.#told.add(told);
    await log.tell({ kind: 'unowned', sandbox: name, driver: driver.name, found, did: 'reported' });
  }
}

export function instanceName({ sandbox, incarnation }: InstanceKey): string {
  return `${sandbox}.${incarnation}`;
}

/** What the grace time of an instance is counted under. */
export function graceName(driver: string, key: InstanceKey): string {
  return `${driver} ${instanceName(key)}`;
}
