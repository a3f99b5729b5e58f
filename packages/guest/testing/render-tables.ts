import { guestErrors } from '../src/protocol/errors.ts';
import type { Field, MessageDef } from '../src/protocol/field.ts';
import { type FrameType, frameTypes } from '../src/protocol/frame-types.ts';
import { limitTable } from '../src/protocol/limits.ts';
import type { Method } from '../src/protocol/methods/method.ts';
import { allMessages, methodNames, methods } from '../src/protocol/methods.ts';
import { violations } from '../src/protocol/protocol-error.ts';
import { sampleFrames } from './sample-stream.ts';

/** The generated parts of PROTOCOL.md, each under the name that its marker has there. */
export function renderTables(): Readonly<Record<string, string>> {
  return {
    limits: limitRows(),
    frames: frameRows(),
    violations: violationRows(),
    errors: errorRows(),
    methods: methodRows(),
    repeats: repeatRows(),
    messages: messageSections(),
    example: example(),
  };
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

const grouped = (value: number) => value.toLocaleString('en-US');
const hex = (value: number, digits = 2) => `0x${value.toString(16).padStart(digits, '0')}`;

function limitRows(): string {
  const rows = Object.entries(limitTable).map(([name, { value, unit, why }]) => [
    `\`${name}\``,
    grouped(value),
    unit,
    why,
  ]);
  return table(['limit', 'value', 'unit', 'why'], rows);
}

function frameRows(): string {
  const rows = Object.entries(frameTypes as Record<string, FrameType>).map(([name, type]) => {
    const size = type.minBytes === type.maxBytes ? `${type.minBytes}` : `${type.minBytes} to ${grouped(type.maxBytes)}`;
    return [hex(type.code), `\`${name}\``, type.scope, size, type.payload, type.about];
  });
  return table(['type', 'name', 'scope', 'payload bytes', 'payload', 'meaning'], rows);
}

function violationRows(): string {
  const rows = Object.entries(violations).map(([name, about], index) => [`${index + 1}`, `\`${name}\``, about]);
  return table(['number', 'violation', 'what the peer did'], rows);
}

function errorRows(): string {
  const rows = Object.entries(guestErrors).map(([name, { code, errno, retry, about }]) => [
    `${code}`,
    `\`${name}\``,
    errno.join(' '),
    retry ? 'yes' : '',
    about,
  ]);
  return table(['code', 'name', 'errno', 'may pass by itself', 'meaning'], rows);
}

function methodRows(): string {
  const rows = methodNames.map((name) => {
    const method: Method = methods[name];
    const output = method.record === undefined ? method.output : `records of \`${method.record.name}\``;
    const { params, result, answer, about } = method;
    const input = method.input ? 'bytes' : 'none';
    return [
      hex(method.number, 4),
      `\`${name}\``,
      `\`${params.name}\``,
      input,
      output,
      `\`${result.name}\`, ${answer}`,
      about,
    ];
  });
  return table(['number', 'method', 'parameters', 'opener sends', 'acceptor sends', 'result', 'meaning'], rows);
}

function repeatRows(): string {
  const rows = methodNames.map((name) => [`\`${name}\``, methods[name].repeat, methods[name].afterLoss]);
  return table(['method', 'a repetition is', 'after losing the connection before the result'], rows);
}

function messageSections(): string {
  return [...allMessages.values()].map(messageSection).join('\n\n');
}

function messageSection(def: MessageDef): string {
  const rows = Object.entries(def.fields).map(([key, field]) => [
    `${field.tag}`,
    `\`${key}\``,
    kindOf(field),
    ruleOf(field),
    boundsOf(field),
    field.about,
  ]);
  const head = `#### \`${def.name}\`\n\n${def.about[0]?.toUpperCase()}${def.about.slice(1)}.`;
  return rows.length === 0 ? head : `${head}\n\n${table(['tag', 'field', 'type', 'rule', 'bounds', 'meaning'], rows)}`;
}

function kindOf(field: Field): string {
  if (field.message !== undefined) return `message \`${field.message.name}\``;
  if (field.choices === undefined) return field.kind;
  // The choices of `reset.code` are the whole table of errors.
  if (Object.keys(field.choices).length > 10) return 'choice (errors)';
  return Object.entries(field.choices)
    .map(([name, number]) => `${number} ${name}`)
    .join(', ');
}

function ruleOf({ rule, maxItems, critical }: Field): string {
  return `${rule === 'repeated' ? `up to ${grouped(maxItems)}` : rule}${critical ? ', must understand' : ''}`;
}

function boundsOf({ kind, min, max }: Field): string {
  if (kind === 'bool' || kind === 'choice') return '';
  const range = min === max ? grouped(max) : `${grouped(min)} to ${grouped(max)}`;
  return kind === 'uint' || kind === 'int' ? range : `${range} bytes`;
}

/** Every sample frame, byte by byte: the header on one line, then sixteen bytes a line. */
function example(): string {
  const lines: string[] = [];
  const spaced = (bytes: Buffer) => bytes.toString('hex').replace(/..(?=.)/g, '$& ');
  for (const { about, bytes } of sampleFrames) {
    lines.push(`# ${about}`, spaced(bytes.subarray(0, 12)));
    for (let at = 12; at < bytes.length; at += 16) lines.push(`    ${spaced(bytes.subarray(at, at + 16))}`);
  }
  return ['```', ...lines, '```'].join('\n');
}
