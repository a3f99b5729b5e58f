import { type EgressRefusal, egressRefusals, type Id } from '@caisson/contract';
import { hostText, type Target } from '../rules/host.ts';

/** What was not let through, and everything that its client and the journal are told of it. */
export interface Refused {
  readonly why: EgressRefusal;
  /** What was wanted, where it could be read. */
  readonly target?: Target | undefined;
  /** What was sent instead of something readable. Bounded and printable. */
  readonly sent?: string | undefined;
  readonly address?: string | undefined;
  readonly rule?: string | undefined;
  readonly suggestion?: string | undefined;
  /** One sentence more, for a person. */
  readonly detail?: string | undefined;
}

export const refusalStatus: Readonly<Record<EgressRefusal, number>> = {
  network_off: 403,
  not_allowed: 403,
  denied: 403,
  private_address: 403,
  name_invalid: 400,
  name_unknown: 502,
  host_mismatch: 403,
  sni_mismatch: 403,
  sni_hidden: 403,
  request_malformed: 400,
  protocol_unsupported: 501,
  byte_limit: 429,
  connection_limit: 429,
  rate_limit: 429,
  rules_changed: 403,
  unreachable: 502,
};

/** Let through, and not reached: nobody here refused it. */
const unreached: ReadonlySet<EgressRefusal> = new Set(['name_unknown', 'unreachable']);

/** The words beside the status. Those of a 502 are the usual ones: by them programs know what may heal. */
export function refusalPhrase(why: EgressRefusal): string {
  return unreached.has(why) ? 'Bad Gateway' : 'Refused by Caisson';
}

/** The answer's fields and text: what `curl` shows to a person, and a header for programs. */
export function refusalAnswer(sandbox: Id<'sandbox'>, refused: Refused): { fields: [string, string][]; text: string } {
  const { why, rule, suggestion, detail } = refused;
  const isRefused = !unreached.has(why);
  const verdict = isRefused ? 'was refused by Caisson' : 'could not be reached';
  const lines = [`${wanted(refused)} ${verdict}: ${egressRefusals[why]} (${why}).`];
  if (detail !== undefined) lines.push(detail);
  if (rule !== undefined) lines.push(`The rule: ${rule}`);
  if (suggestion !== undefined) lines.push(`To allow it: caisson network allow ${sandbox} ${suggestion}`);
  const text = `${lines.join('\n')}\n`;
  const fields: [string, string][] = [
    ['content-type', 'text/plain; charset=utf-8'],
    ['content-length', String(Buffer.byteLength(text))],
    ['x-caisson-egress', `${isRefused ? 'refused' : 'unreached'}; why=${why}`],
    ['cache-control', 'no-store'],
  ];
  if (why === 'rate_limit') fields.push(['retry-after', '1']);
  return { fields, text };
}

/** The whole answer as bytes, for a connection that no parser holds any more. It is the last thing on it. */
export function refusalBytes(sandbox: Id<'sandbox'>, refused: Refused): Buffer {
  const { fields, text } = refusalAnswer(sandbox, refused);
  const head = [...fields, ['connection', 'close']].map(([name, value]) => `${name}: ${value}\r\n`).join('');
  return Buffer.from(`HTTP/1.1 ${refusalStatus[refused.why]} ${refusalPhrase(refused.why)}\r\n${head}\r\n${text}`);
}

/** Reply codes of SOCKS5 (RFC 1928). */
export function socksReply(why: EgressRefusal): number {
  switch (why) {
    case 'unreachable':
      return 5;
    case 'name_unknown':
    case 'name_invalid':
      return 4;
    case 'protocol_unsupported':
      return 7;
    case 'request_malformed':
      return 1;
    default:
      return 2;
  }
}

function wanted({ target, sent }: Refused): string {
  return target ? targetText(target) : (sent ?? 'the request');
}

export function targetText({ host, port }: Target): string {
  const text = hostText(host);
  return `${text.includes(':') ? `[${text}]` : text}:${port}`;
}

/** What a stranger sent, fit for a line of a log. */
export function printable(text: string): string {
  return text.slice(0, 255).replace(/[^!-~]/g, '?');
}
