import { setTimeout as delay } from 'node:timers/promises';
import type { Id } from '@caisson/contract';
import { Names } from '../dial/names.ts';
import type {
  EgressJournal,
  EgressProtocol,
  EgressSecrets,
  EgressSubject,
  EgressSubjects,
  Resolver,
} from '../egress.ts';
import type { ClosedAddresses } from '../rules/closed-addresses.ts';
import { hostText, type Target } from '../rules/host.ts';
import { compileRules, type Rules, type Ruling } from '../rules/rules.ts';
import { Account } from './account.ts';
import type { Client } from './client.ts';
import { Meter } from './meter.ts';
import type { Refused } from './refused.ts';
import type { Trust } from './trust.ts';
import { UpstreamPool } from './upstream-pool.ts';

/** Where the rules say nothing. As many as one busy sandbox needs, and few enough for hundreds of them. */
const connectionsDefault = 512;
/** For what was sent too fast a client waits so long, and is told to come again where it would be longer. */
const restMaxMs = 30_000;
/** Addresses of one name that are tried. */
const triedMax = 8;

/** What every gate of a server stands on. */
export interface GateParts {
  readonly subjects: EgressSubjects;
  readonly journal: EgressJournal;
  readonly secrets: EgressSecrets | undefined;
  readonly resolver: Resolver;
  readonly closed: ClosedAddresses;
  readonly trust: Trust;
  readonly log: EgressLog;
}

export interface EgressLog {
  warn(context: Record<string, unknown>, message: string): void;
}

/** The rules as they are now. */
export interface Standing {
  readonly subject: EgressSubject;
  readonly rules: Rules;
}

/** Where a target may be dialled. */
export interface Candidates {
  readonly addresses: readonly string[];
  readonly rule: string | undefined;
}

/** One way through that is open: decided again whenever the rules change. */
export interface Passage {
  readonly protocol: EgressProtocol;
  readonly target: Target;
  /** Undefined while it is being dialled. */
  address: string | undefined;
  /** What its TLS handshake names, where the target is an address. */
  shown: Target | undefined;
  readonly account: Account;
  /** Its client is told where there is still a way to. */
  end(refused: Refused): void;
}

/** The way out of one sandbox: its rules, what is open, and what it has used. */
export class Gate {
  readonly sandbox: Id<'sandbox'>;
  readonly parts: GateParts;
  readonly pool: UpstreamPool;
  readonly clients = new Set<Client>();
  readonly #names: Names;
  readonly #meter: Meter;
  readonly #passages = new Set<Passage>();
  /** Requests and connections that are being decided: each holds its head in memory. */
  #beginning = 0;
  #standing: Standing | undefined;
  #reading: Promise<Standing | undefined> | undefined;
  #generation = 0;
  #isClosed = false;

  constructor(sandbox: Id<'sandbox'>, parts: GateParts) {
    this.sandbox = sandbox;
    this.parts = parts;
    this.#names = new Names(parts.resolver);
    this.#meter = new Meter(sandbox, parts.journal, () => this.#endAll('byte_limit'));
    this.pool = new UpstreamPool(this);
  }

  /** The rules; undefined when there are none to be had, and then nothing passes. */
  async standing(): Promise<Standing | undefined> {
    if (this.#standing || this.#isClosed) return this.#standing;
    this.#reading ??= this.#read(this.#generation);
    return this.#reading;
  }

  async #read(generation: number): Promise<Standing | undefined> {
    try {
      const subject = await this.parts.subjects.find(this.sandbox);
      if (!subject) return undefined;
      const standing = { subject, rules: compileRules(subject.rules, this.parts.closed) };
      await this.#meter.limit(subject.rules.limits);
      // Changed while they were being read: what was read may be the old ones.
      if (generation !== this.#generation) return this.standing();
      this.#standing = standing;
      return standing;
    } catch (error) {
      this.parts.log.warn({ err: error, sandbox: this.sandbox }, 'the rules of its network cannot be read');
      return undefined;
    } finally {
      if (generation === this.#generation) this.#reading = undefined;
    }
  }

  /** The rules may be others from here on: they are read again when somebody asks. */
  #forgetRules(): void {
    this.#generation += 1;
    this.#standing = undefined;
    this.#reading = undefined;
  }

  /** It is somebody else's now. As a rule nothing is open, and then there is nothing to read rules for yet. */
  async handedOver(): Promise<void> {
    if (this.clients.size > 0 || this.#passages.size > 0) return void (await this.rulesChanged());
    this.#forgetRules();
    this.pool.keepOnly(() => false);
  }

  /** Reads the rules again and ends what they refuse. */
  async rulesChanged(): Promise<Standing | undefined> {
    this.#forgetRules();
    const standing = await this.standing();
    const rules = standing?.rules;
    this.pool.keepOnly((target, address) => rules?.decideAddress(target, address).allowed === true);
    for (const passage of this.#passages) {
      const ruling = rules ? decide(rules, passage) : undefined;
      if (ruling?.allowed) continue;
      const { target, address } = passage;
      this.#end(passage, { ...ruling, why: 'rules_changed', target, address });
    }
    if (this.#meter.isUsedUp) this.#endAll('byte_limit');
    return standing;
  }

  /** Whether one more client may come in. */
  hasRoom(): boolean {
    return this.clients.size < (this.#standing?.subject.rules.limits.connections ?? connectionsDefault);
  }

  /** Decides a target before and after it is resolved: the addresses that may be dialled, in order. */
  async candidates(target: Target): Promise<Candidates | Refused> {
    const standing = this.#standing ?? (await this.standing());
    if (!standing) return { why: 'network_off', target, detail: 'Its rules cannot be read.' };
    const before = this.#mayBegin(standing, target);
    if (before) return before;
    this.#beginning += 1;
    try {
      return await this.#resolved(target);
    } finally {
      this.#beginning -= 1;
    }
  }

  async #resolved(target: Target): Promise<Candidates | Refused> {
    if (this.#meter.restMs >= 1 && !(await this.#rested())) return { why: 'rate_limit', target };
    const { host } = target;
    const addresses = host.kind === 'address' ? [host.address] : await this.#names.addresses(host.name);
    if (addresses === undefined) return { why: 'rate_limit', target, detail: 'Too many names are being looked up.' };
    if (addresses.length === 0) return { why: 'name_unknown', target };
    const now = this.#standing ?? (await this.standing());
    if (!now) return { why: 'network_off', target, detail: 'Its rules cannot be read.' };
    return allowedOf(now.rules, target, addresses);
  }

  /** Whether what was sent too fast is paid for, soon. */
  async #rested(): Promise<boolean> {
    const latest = performance.now() + restMaxMs;
    for (let rest = this.#meter.restMs; rest >= 1; rest = this.#meter.restMs) {
      if (this.#isClosed || performance.now() + rest > latest) return false;
      await delay(rest, undefined, { ref: false });
    }
    return true;
  }

  #mayBegin({ subject, rules }: Standing, target: Target): Refused | undefined {
    const ruling = rules.decideTarget(target);
    if (!ruling.allowed) return { ...ruling, target };
    if (this.#meter.isUsedUp) return { why: 'byte_limit', target };
    if (!this.#meter.mayOpen()) return { why: 'rate_limit', target };
    const connections = subject.rules.limits.connections ?? connectionsDefault;
    // Those that came before the rules were known count too; and one client may have several requests on their way, but
    // not without end.
    const hasRoom = this.clients.size <= connections && this.#passages.size + this.#beginning < 2 * connections;
    return hasRoom ? undefined : { why: 'connection_limit', target };
  }

  /** Once more, by the rules as they are now: they may have changed while somebody dialled. */
  async confirm(target: Target, address: string): Promise<Refused | undefined> {
    const standing = this.#standing ?? (await this.standing());
    if (!standing) return { why: 'network_off', target };
    const ruling = standing.rules.decideAddress(target, address);
    return ruling.allowed ? undefined : { ...ruling, target, address };
  }

  account(target: Target): Account {
    return new Account(this.sandbox, this.parts.journal, this.#meter, hostText(target.host));
  }

  open(passage: Passage): void {
    this.#passages.add(passage);
    this.#holdToRules(passage);
  }

  /**
   * Between a decision and what follows from it the rules may have changed, unseen by a passage that was not known yet.
   * While they are being read it is enough that it is known: it is decided when they are.
   */
  #holdToRules(passage: Passage): void {
    if (!this.#passages.has(passage)) return;
    const ruling = this.#standing && decide(this.#standing.rules, passage);
    if (this.#isClosed || ruling?.allowed === false)
      this.#end(passage, { ...ruling, why: 'rules_changed', target: passage.target, address: passage.address });
  }

  close(passage: Passage): void {
    passage.account.flush();
    this.#passages.delete(passage);
  }

  /** Its address is decided on, and known from here on. */
  allowed(passage: Passage, rule: string | undefined, secrets?: readonly string[]): void {
    const { target, protocol, address } = passage;
    const used = secrets && secrets.length > 0 ? { secrets } : {};
    const { port } = target;
    this.parts.journal.decided({
      ...{ sandbox: this.sandbox, host: hostText(target.host), port, protocol, address },
      ...{ verdict: 'allowed', rule, ...used },
    });
    this.#holdToRules(passage);
  }

  refused(protocol: EgressProtocol, refused: Refused): void {
    const { why, target, sent, address, rule, suggestion } = refused;
    const host = target ? hostText(target.host) : (sent ?? '');
    const port = target?.port ?? 0;
    this.parts.journal.decided({
      ...{ sandbox: this.sandbox, host, port, protocol, address },
      ...{ verdict: 'refused', why, rule, suggestion },
    });
  }

  /** Writes down what moved, and ends what nothing moves through any more. */
  look(now: number, idleMs: number): void {
    for (const passage of this.#passages) {
      passage.account.flush();
      if (now - passage.account.movedAt > idleMs) this.#end(passage, { why: 'unreachable', target: passage.target });
    }
    for (const client of this.clients) client.look(now);
  }

  shut(): void {
    this.#isClosed = true;
    this.#standing = undefined;
    this.#endAll('rules_changed');
    for (const client of this.clients) client.stream.destroy();
    this.#names.close();
    this.pool.destroy();
  }

  #endAll(why: 'byte_limit' | 'rules_changed'): void {
    for (const passage of this.#passages) this.#end(passage, { why, target: passage.target, address: passage.address });
  }

  #end(passage: Passage, refused: Refused): void {
    this.close(passage);
    if (!this.#isClosed) this.refused(passage.protocol, refused);
    passage.end(refused);
  }
}

function allowedOf(rules: Rules, target: Target, addresses: readonly string[]): Candidates | Refused {
  const allowed: string[] = [];
  let rule: string | undefined;
  let refused: Refused = { why: 'name_unknown', target };
  for (const address of addresses) {
    const ruling = rules.decideAddress(target, address);
    if (ruling.allowed) {
      rule ??= ruling.rule;
      allowed.push(address);
    } else {
      refused = { ...ruling, target, address };
    }
  }
  return allowed.length === 0 ? refused : { addresses: allowed.slice(0, triedMax), rule };
}

function decide(rules: Rules, { target, address, shown }: Passage): Ruling {
  const ruling = address === undefined ? rules.decideTarget(target) : rules.decideAddress(target, address);
  return ruling.allowed && shown ? rules.decideTarget(shown) : ruling;
}
