import type { EgressRefusal, NetworkRules } from '@caisson/contract';
import { type Address, readAddress } from './address.ts';
import type { ClosedAddresses } from './closed-addresses.ts';
import { embeddedAddresses } from './embedded-addresses.ts';
import { EntrySet } from './entry-set.ts';
import { type Target, targetText } from './host.ts';

/** What the rules say to one connection, and by which entry. */
export type Ruling =
  | { readonly allowed: true; readonly rule?: string }
  | {
      readonly allowed: false;
      readonly why: EgressRefusal;
      readonly rule?: string;
      /** The narrowest entry that would allow it, where one could. */
      readonly suggestion?: string;
    };

export interface Rules {
  /** Whether names decide anything: then a handshake must show its name. */
  readonly namesMatter: boolean;
  /** Before the name is resolved. */
  decideTarget(target: Target): Ruling;
  /** For the address that would be dialled; includes the decision on the target. */
  decideAddress(target: Target, address: string): Ruling;
}

/**
 * Compiles what a sandbox may reach.
 *
 * Laws
 * - `off` is off, whatever is listed. Otherwise `deny` is stronger than `allow`, and `allow` than the mode.
 * - A closed address is refused whatever is listed.
 * - An entry of `deny` that cannot be read denies everything, and one of `allow` allows nothing.
 * - `deny` of an IPv4 address counts for the IPv6 addresses through which it is reached; `allow` does not.
 */
export function compileRules(rules: NetworkRules, closed: ClosedAddresses): Rules {
  if (rules.mode === 'off') return { namesMatter: false, decideTarget: () => off, decideAddress: () => off };
  const deny = new EntrySet(rules.deny);
  const [unreadable] = deny.unreadable;
  if (unreadable !== undefined) {
    const denied = refused('denied', unreadable);
    return { namesMatter: true, decideTarget: () => denied, decideAddress: () => denied };
  }
  return new CompiledRules(rules.mode, new EntrySet(rules.allow), deny, closed);
}

class CompiledRules implements Rules {
  readonly namesMatter: boolean;
  #mode: 'allowlist' | 'open';
  #allow: EntrySet;
  #deny: EntrySet;
  #closed: ClosedAddresses;

  constructor(mode: 'allowlist' | 'open', allow: EntrySet, deny: EntrySet, closed: ClosedAddresses) {
    this.#mode = mode;
    this.#allow = allow;
    this.#deny = deny;
    this.#closed = closed;
    this.namesMatter = mode === 'allowlist' || deny.hasNames;
  }

  decideTarget(target: Target): Ruling {
    const { host, port } = target;
    if (host.kind === 'name') {
      const rule = this.#deny.name(host.name, port);
      return rule === undefined ? this.#unless(target, this.#allow.name(host.name, port)) : refused('denied', rule);
    }
    const address = readAddress(host.address);
    if (address === undefined) return unreadableAddress;
    return this.#refusal(address, port) ?? this.#unless(target, this.#allow.address(address, port));
  }

  decideAddress(target: Target, text: string): Ruling {
    const ruling = this.decideTarget(target);
    if (!ruling.allowed) return ruling;
    const address = readAddress(text);
    if (address === undefined) return unreadableAddress;
    if (target.host.kind === 'address' && target.host.address !== address.text) return otherAddress;
    return this.#refusal(address, target.port) ?? ruling;
  }

  #refusal(address: Address, port: number): Ruling | undefined {
    const rule = this.#denied(address, port);
    if (rule !== undefined) return refused('denied', rule);
    return this.#closed.refuses(address.text, port) ? privateAddress : undefined;
  }

  #denied(address: Address, port: number): string | undefined {
    const rule = this.#deny.address(address, port);
    if (rule !== undefined || address.family === 4) return rule;
    for (const reached of embeddedAddresses(address)) {
      const inner = this.#deny.address(reached, port);
      if (inner !== undefined) return inner;
    }
    return undefined;
  }

  #unless(target: Target, rule: string | undefined): Ruling {
    if (this.#mode === 'open') return allowed;
    if (rule !== undefined) return { allowed: true, rule };
    const suggestion = suggestionFor(target);
    return suggestion === undefined ? notAllowed : { ...notAllowed, suggestion };
  }
}

/** A label that ends in `_` can be looked up and not be written in an entry. */
function suggestionFor(target: Target): string | undefined {
  const text = targetText(target);
  return text.includes('_.') || text.includes('_:') ? undefined : text;
}

function refused(why: EgressRefusal, rule: string): Ruling {
  return { allowed: false, why, rule };
}

const allowed = { allowed: true } as const;
const off = { allowed: false, why: 'network_off' } as const;
const notAllowed = { allowed: false, why: 'not_allowed' } as const;
const privateAddress = { allowed: false, why: 'private_address' } as const;
const unreadableAddress = { allowed: false, why: 'name_invalid' } as const;
const otherAddress = { allowed: false, why: 'host_mismatch' } as const;
