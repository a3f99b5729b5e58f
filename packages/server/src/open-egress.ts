import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { CaissonError, type Id } from '@caisson/contract';
import type { Driver } from './drivers/driver.ts';
import { MachineResolver } from './network/dial/machine-resolver.ts';
import { Reach } from './network/dial/reach.ts';
import type { EgressJournal, EgressSecrets, EgressSubjects, Resolver } from './network/egress.ts';
import { EgressGates, type EgressLog } from './network/proxy/egress-gates.ts';
import { Trust } from './network/proxy/trust.ts';
import { ClosedAddresses } from './network/rules/closed-addresses.ts';
import type { Store } from './store/store.ts';

/** What the operator of a server says of the way out of its sandboxes. */
export interface EgressSettings {
  /** Private addresses that may be reached all the same: `10.1.0.0/16`, `127.0.0.1:8080`. */
  readonly open?: readonly string[] | undefined;
  /** A file of certificates to trust besides the machine's, as PEM. */
  readonly rootsFile?: string | undefined;
  /** More of them, as they are. */
  readonly roots?: readonly string[] | undefined;
  /** In place of the machine's own, for tests. */
  readonly resolver?: Resolver | undefined;
}

export interface Egress {
  readonly gates: EgressGates;
  /** What the server itself reaches for a spec, by the same rules. */
  readonly reach: Reach;
  close(): Promise<void>;
}

/** Where rules and secrets come from, and where what happens is written down. */
export interface EgressParts {
  readonly subjects: EgressSubjects;
  readonly journal: EgressJournal;
  readonly secrets: EgressSecrets;
}

/** The way out of every sandbox. */
export function openEgress(
  store: Store,
  drivers: readonly Driver[],
  parts: EgressParts,
  settings: EgressSettings,
  log: EgressLog,
): Egress {
  const resolver = settings.resolver ?? new MachineResolver();
  const closed = closedAddresses(settings.open ?? []);
  const extraRoots = [...readRoots('--egress-roots', settings.rootsFile), ...(settings.roots ?? [])];
  const gates = new EgressGates({ ...parts, log, resolver, closed, extraRoots });
  const reach = new Reach({ resolver, closed, trust: new Trust(extraRoots) });
  for (const driver of drivers) driver.onGuest = (key, guest) => gates.attach(key.sandbox, guest);
  const forgetting = store.onEvent(({ type, subject, data }) => {
    const sandbox = subject as Id<'sandbox'>;
    if (ended.has(type)) gates.forget(sandbox);
    // Whose it is has changed, or it has a record again. Until its rules are read again nothing new passes.
    if (type === 'caisson.sandbox.claimed') void gates.handedOver(sandbox).catch(() => {});
    else if (data.from === null) void gates.rulesChanged(sandbox).catch(() => {});
  });
  const close = async () => {
    forgetting();
    for (const driver of drivers) driver.onGuest = undefined;
    await gates.close();
  };
  return { gates, reach, close };
}

const ended: ReadonlySet<string> = new Set([
  'caisson.sandbox.destroyed',
  'caisson.sandbox.stopped',
  'caisson.sandbox.failed',
]);

function closedAddresses(opened: readonly string[]): ClosedAddresses {
  try {
    return new ClosedAddresses(opened);
  } catch (cause) {
    throw new CaissonError('request_invalid', `--egress-open: ${(cause as Error).message}`, { cause });
  }
}

const certificateForm = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

function certificatesIn(text: string): string[] {
  return text.match(certificateForm) ?? [];
}

/** What cannot be read is passed over by whoever trusts: a file of nothing else would be told by nobody. */
function isReadable(certificate: string): boolean {
  try {
    return new X509Certificate(certificate).serialNumber !== '';
  } catch {
    return false;
  }
}

/** Certificates of a file that an option names. */
export function readRoots(option: string, file: string | undefined): string[] {
  if (file === undefined) return [];
  try {
    const text = readFileSync(file, 'utf8');
    if (certificatesIn(text).some(isReadable)) return [text];
  } catch (cause) {
    throw new CaissonError('request_invalid', `${option}: ${file} cannot be read`, { cause });
  }
  throw new CaissonError('request_invalid', `${option}: ${file} has no certificate in it`);
}
