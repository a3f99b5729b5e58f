import { CaissonError, isFramingField } from '@caisson/contract';
import type { SecretHeader } from '../../store/secrets.ts';
import type { RequestHead } from '../egress.ts';

/** A secret with its value, as it goes into requests. */
export interface OpenSecret {
  readonly name: string;
  readonly value: string;
  readonly header: SecretHeader | null;
  readonly placeholder: string | null;
}

/** Larger than any server takes. A placeholder of twelve characters may stand for 64 KiB, and stand there often. */
export const maxHeadBytes = 262_144;

/**
 * The head of one request with secrets in it. Pure.
 *
 * Laws
 * - Method, names of fields, and the fields that frame a request stay as they are; no field is added but a secret's own.
 * - Each text is gone through once: what a value brings is never taken for a placeholder.
 * - What comes out has no line break, NUL or space where there must be none; otherwise it throws, and nothing comes out.
 */
export function applySecrets(
  head: RequestHead,
  secrets: readonly OpenSecret[],
): { readonly head: RequestHead; readonly used: readonly string[] } {
  // It asks the server to send back what it was sent.
  if (secrets.length === 0 || head.method.toUpperCase() === 'TRACE') return { head, used: [] };
  const used = new Set<string>();
  const room = new Room(head);
  const headers = headerSecrets(secrets);
  const replace = placeholders(secrets, room, used);
  const fields = head.fields.flatMap(([name, value]): [string, string][] => {
    if (headers.has(name.toLowerCase())) return [];
    return [[name, isFramingField(name) ? value : inField(name, value, replace)]];
  });
  for (const { name, value, header } of headers.values()) {
    const text = header.format.replace('{}', () => asField(value));
    room.take(header.name.length + text.length + 4);
    fields.push([header.name, text]);
    used.add(name);
  }
  const result = { method: head.method, target: replace.inTarget(head.target), fields };
  if (used.size === 0) return { head, used: [] };
  requireSound(result);
  return { head: result, used: [...used] };
}

/** One for each field; of two that want the same, the first that the rules name. */
function headerSecrets(secrets: readonly OpenSecret[]) {
  const headers = new Map<string, OpenSecret & { readonly header: SecretHeader }>();
  for (const secret of secrets) {
    const { header } = secret;
    const key = header?.name.toLowerCase();
    if (header && key !== undefined && !headers.has(key)) headers.set(key, { ...secret, header });
  }
  return headers;
}

interface Replacing {
  inText(text: string): string;
  inTarget(text: string): string;
}

function placeholders(secrets: readonly OpenSecret[], room: Room, used: Set<string>): Replacing {
  const plain = new Map<string, OpenSecret>();
  const inTarget = new Map<string, OpenSecret>();
  for (const secret of secrets) {
    const { placeholder } = secret;
    if (placeholder === null || plain.has(placeholder)) continue;
    plain.set(placeholder, secret);
    // A client may write it with what a URL cannot have spelled out.
    for (const spelling of [placeholder, encodeURIComponent(placeholder)]) inTarget.set(spelling, secret);
  }
  const through = (known: ReadonlyMap<string, OpenSecret>, form: (value: string) => string) => {
    if (known.size === 0) return (text: string) => text;
    // The longest first: one may be the beginning of another.
    const words = [...known.keys()].sort((a, b) => b.length - a.length).map(literally);
    const pattern = new RegExp(words.join('|'), 'g');
    return (text: string) =>
      text.replace(pattern, (found) => {
        const secret = known.get(found);
        if (!secret) return found;
        const value = form(secret.value);
        room.take(value.length);
        used.add(secret.name);
        return value;
      });
  };
  return { inText: through(plain, asField), inTarget: through(inTarget, encodeURIComponent) };
}

function literally(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');
}

const basicPattern = /^(Basic +)([A-Za-z0-9+/]+={0,2})$/i;

/** A name and a password travel in base64: the placeholder may be in there. */
function inField(name: string, value: string, replace: Replacing): string {
  const basic = name.toLowerCase() === 'authorization' ? basicPattern.exec(value) : null;
  if (!basic) return replace.inText(value);
  const decoded = Buffer.from(basic[2] ?? '', 'base64').toString('latin1');
  const replaced = replace.inText(decoded);
  return replaced === decoded
    ? replace.inText(value)
    : `${basic[1]}${Buffer.from(replaced, 'latin1').toString('base64')}`;
}

/** Fields are written byte by byte: each character of this text is one byte of the value in UTF-8. */
function asField(value: string): string {
  return Buffer.from(value, 'utf8').toString('latin1');
}

/** How much may still be added to a head. */
class Room {
  #left = maxHeadBytes;

  constructor({ target, fields }: RequestHead) {
    this.take(target.length);
    for (const [name, value] of fields) this.take(name.length + value.length + 4);
  }

  take(bytes: number): void {
    this.#left -= bytes;
    if (this.#left < 0) throw new CaissonError('headers_too_large', 'the request is too large with its secrets in it');
  }
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it refuses.
const unsoundField = /[\u0000-\u0008\u000a-\u001f\u007f]|[^\u0000-\u00ff]/;
const unsoundTarget = /[^!-~]/;
const tokenPattern = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/;

function requireSound({ method, target, fields }: RequestHead): void {
  const isSound =
    tokenPattern.test(method) &&
    !unsoundTarget.test(target) &&
    fields.every(([name, value]) => tokenPattern.test(name) && !unsoundField.test(value));
  if (!isSound) throw new CaissonError('request_invalid', 'the request cannot take a secret: it is not well formed');
}
