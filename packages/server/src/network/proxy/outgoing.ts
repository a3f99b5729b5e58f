import type { IncomingMessage } from 'node:http';
import type { BoundSecrets, RequestHead } from '../egress.ts';
import { hostText, type Target } from '../rules/host.ts';
import { areWritable, type Fields, type Framing, framingOf, pairsOf, passedOn, valuesOf } from './fields.ts';
import type { Passage } from './gate.ts';
import type { Refused } from './refused.ts';
import { hostField, readRequestTarget } from './request-target.ts';
import type { Wanted } from './upstream-pool.ts';
import type { Visit } from './visit.ts';

/** A request that may go out, as it will be sent. */
export interface Outgoing {
  readonly head: RequestHead;
  readonly framing: Framing;
  readonly wanted: Wanted;
  readonly rule: string | undefined;
  /** The names of the secrets that are in it. */
  readonly secrets: readonly string[];
}

/** Reads, decides and rewrites the head of a request. Nothing has been sent when this resolves. */
export async function outgoing(visit: Visit, req: IncomingMessage): Promise<Outgoing | Refused> {
  const { gate, fixed } = visit;
  const fields = pairsOf(req.rawHeaders);
  const asked = readRequestTarget(req.url ?? '', valuesOf(fields, 'host'), fixed?.target);
  if ('why' in asked) return asked;
  const { target, path } = asked;
  const framing = framingOf(fields, req.httpVersion);
  if (framing === undefined) {
    return { why: 'request_malformed', target, detail: 'Where its body ends is open to more than one reading.' };
  }
  const found = await gate.candidates(target);
  if ('why' in found) return found;
  const servername = fixed?.secrets ? hostText(target.host) : undefined;
  const host = hostField(target, fixed?.secrets ? 443 : 80);
  const plain: RequestHead = {
    method: req.method ?? 'GET',
    target: path,
    fields: [['Host', host], ...passedOn(fields).filter(([name]) => name.toLowerCase() !== 'host')],
  };
  const { left } = visit.client;
  const wanted = { target, addresses: found.addresses, servername, spare: fixed?.spare, left };
  const secrets = fixed?.secrets && (await presentSecrets(visit, target));
  if (fixed?.secrets && !secrets) return { why: 'rules_changed', target, detail: 'It has lost its secrets.' };
  const applied = withSecrets(visit, plain, secrets);
  if (!applied) return { why: 'request_malformed', target, detail: 'Its secrets cannot be put in.' };
  return { ...applied, framing, wanted, rule: found.rule };
}

/** The connection may be older than the rules. */
async function presentSecrets({ gate }: Visit, { host, port }: Target): Promise<BoundSecrets | undefined> {
  const standing = await gate.standing();
  return standing && gate.parts.secrets?.find(standing.subject, hostText(host), port);
}

/** A secret may change what a request says and never where it ends or whom it is for. */
function withSecrets(
  { gate }: Visit,
  plain: RequestHead,
  secrets: BoundSecrets | undefined,
): Pick<Outgoing, 'head' | 'secrets'> | undefined {
  if (!secrets) return { head: plain, secrets: [] };
  try {
    const { head, used } = secrets.apply(plain);
    const isSound = areWritable([...head.fields]) && /^[\x21-\x7e\x80-\xff]+$/.test(head.target);
    const isSame = head.method === plain.method && shapeOf(head) === shapeOf(plain);
    if (isSound && isSame) return { head, secrets: used };
    throw new Error('the secrets change more of a request than they may');
  } catch (error) {
    gate.parts.log.warn({ err: error, sandbox: gate.sandbox }, 'secrets cannot be put into a request');
    return undefined;
  }
}

const shaping = ['host', 'content-length', 'transfer-encoding', 'connection', 'upgrade', 'expect', 'trailer'];

function shapeOf({ fields }: RequestHead): string {
  return JSON.stringify(shaping.map((name) => valuesOf([...fields], name)));
}

/** The fields in the flat form that Node sends as they stand, with the framing of the body. */
export function flatFields(head: RequestHead, framing: Framing): string[] {
  const fields: Fields = [...head.fields];
  if (framing === 'chunked') fields.push(['Transfer-Encoding', 'chunked']);
  if (framing === 'none' && ['POST', 'PUT', 'PATCH'].includes(head.method)) fields.push(['Content-Length', '0']);
  return fields.flat();
}

/** The passage of a request, from its decision on. */
export function passageOf({ gate, client }: Visit, { wanted }: Outgoing, end: Passage['end']): Passage {
  const { target } = wanted;
  const account = gate.account(target);
  return { protocol: client.protocol, target, address: undefined, shown: undefined, account, end };
}
