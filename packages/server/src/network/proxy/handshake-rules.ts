import type { EgressRefusal } from '@caisson/contract';
import { hostText, readHost, type Target } from '../rules/host.ts';
import type { Rules } from '../rules/rules.ts';
import type { ClientHello } from './client-hello.ts';

/** What a handshake shows: the name that it is for, where it shows one beside an address; or why it may not go on. */
export type HandshakeRuling =
  | { readonly shown: Target | undefined }
  | { readonly why: EgressRefusal; readonly rule?: string; readonly suggestion?: string };

/**
 * A connection to a name must show that name, and no other. Where names decide nothing it may show none. One to an address
 * may show any name that the rules would let through: by that name the server decides what it is asked for.
 */
export function decideHandshake(hello: ClientHello | undefined, target: Target, rules: Rules): HandshakeRuling {
  if (hello === undefined) return rules.namesMatter ? { why: 'sni_hidden' } : { shown: undefined };
  if (hello.hidesName && rules.namesMatter) return { why: 'sni_hidden' };
  const isNamed = target.host.kind === 'name';
  if (hello.name === undefined) return isNamed && rules.namesMatter ? { why: 'sni_hidden' } : { shown: undefined };
  const host = readHost(hello.name);
  if (host === undefined) return { why: 'sni_mismatch' };
  if (isNamed || host.kind === 'address')
    return hostText(host) === hostText(target.host) ? { shown: undefined } : { why: 'sni_mismatch' };
  const shown = { host, port: target.port };
  const ruling = rules.decideTarget(shown);
  return ruling.allowed ? { shown } : ruling;
}
