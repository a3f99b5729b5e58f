import { z } from 'zod';

/** The largest value. A token or a signed document is smaller; a larger one fits into no head of a request. */
export const maxSecretBytes = 65_536;
/** Of one project: a list of them is one answer. */
export const maxSecrets = 500;

/** The name that a spec writes in `runtime.network.secrets`, as one segment of a path. */
export const secretNameSchema = z
  .string()
  .max(100)
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9._:@-]*$/,
    'must be a letter or digit, then letters, digits or `.` `_` `:` `@` `-`, at most 100 of them',
  );

const label = '[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?';
const exactPattern = new RegExp(`^(?:${label}\\.)*${label}$`);
const wildcardPattern = new RegExp(`^\\*\\.(?:${label}\\.)+${label}$`);

/** Where a secret may go. Whoever holds a top-level domain holds no secret of everybody below it. */
export const secretDomainSchema = z
  .string()
  .max(253)
  .regex(/^[!-~]+$/, 'must be ASCII; write an international name in its `xn--` form')
  .toLowerCase()
  .refine(isDomain, 'must be a domain, or `*.` and a domain of two parts at least');

function isDomain(text: string): boolean {
  const last = text.slice(text.lastIndexOf('.') + 1);
  // Something that some resolver would take for an address names no domain.
  if (/^(?:[0-9]+|0x[0-9a-f]*)$/.test(last)) return false;
  return exactPattern.test(text) || wildcardPattern.test(text);
}

/** Fields that say where a request ends and who it is for. What is put into one of them would make it another request. */
const framingFields = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'http2-settings',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

export function isFramingField(name: string): boolean {
  const lower = name.toLowerCase();
  return framingFields.has(lower) || lower.startsWith('proxy-');
}

const secretHeaderSchema = z.strictObject({
  name: z
    .string()
    .max(100)
    .regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/, 'must be the name of a header')
    .refine((name) => !isFramingField(name), 'is a header that the connection itself needs'),
  format: z
    .string()
    .max(256)
    .regex(/^[!-~](?:[ -~]*[!-~])?$/, 'must be printable ASCII without spaces around it')
    .refine((format) => format.split('{}').length === 2, 'must have `{}` once, for the value')
    .default('{}')
    .describe('what the header says, with `{}` for the value'),
});

const portSchema = z.int().min(1).max(65_535);

/** What goes into a header cannot have a line break, or it would be two; control characters no server takes. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it refuses.
const unfit = /[\u0000-\u0008\u000a-\u001f\u007f]/;

const secretValueSchema = z
  .string()
  .min(1)
  .max(maxSecretBytes)
  .refine((value) => new TextEncoder().encode(value).byteLength <= maxSecretBytes, 'must be at most 64 KiB')
  .refine((value) => !unfit.test(value), 'must not have a line break, a NUL or another control character')
  .refine((value) => !/\p{Surrogate}/u.test(value), 'must be valid Unicode')
  .refine((value) => value.trim() === value, 'must not begin or end with a space')
  .meta({ writeOnly: true, description: 'never shown again by any route' });

export const setSecretSchema = z.strictObject({
  value: secretValueSchema,
  domains: z.array(secretDomainSchema).min(1).max(20),
  ports: z.array(portSchema).min(1).max(20).default([443]),
  header: secretHeaderSchema.optional().describe('the header that has it in every request to its domains'),
  placeholder: z
    .string()
    .min(12)
    .max(256)
    .regex(/^[!-~]+$/, 'must be visible ASCII without spaces')
    .optional()
    .describe('the text that stands for it inside; made up where there is no header, or `env` wants one'),
  env: z
    .string()
    .max(128)
    .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'must be the name of an environment variable')
    .optional()
    .describe('the variable that has the placeholder inside'),
});

export type SetSecret = z.infer<typeof setSecretSchema>;

/** A secret as it is shown: everything but its value. */
export const secretSchema = z.object({
  name: secretNameSchema,
  domains: z.array(z.string()),
  ports: z.array(portSchema),
  header: z.string().nullable().describe('the name of the header that has it'),
  placeholder: z.string().nullable(),
  env: z.string().nullable(),
  createdAt: z.iso.datetime(),
  updatedAt: z.iso.datetime(),
  lastUsedAt: z.iso.datetime().nullable().describe('to the minute'),
});

export type Secret = z.infer<typeof secretSchema>;
