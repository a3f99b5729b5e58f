import { z } from 'zod';

/**
 * What people may call things. A name is a DNS label, because names end up in host names, cgroups and URLs; labels are
 * free text but for control characters, because they end up in logs and in terminals.
 */
export const nameSchema = z
  .string()
  .max(63)
  .regex(
    /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/,
    'must be lower-case letters, digits and inner hyphens, at most 63 of them',
  );

export const labelKeySchema = z
  .string()
  .max(63)
  .regex(
    /^[A-Za-z0-9](?:[A-Za-z0-9._/-]*[A-Za-z0-9])?$/,
    'must be letters, digits and inner . _ / -, at most 63 of them',
  )
  .refine((key) => key !== '__proto__', 'is reserved');

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it refuses.
const plainText = /^[^\u0000-\u001f\u007f-\u009f\ud800-\udfff\u2028\u2029]*$/u;

/** One line of text with no control character and no lone surrogate. */
export function lineSchema(maxLength: number) {
  return z.string().max(maxLength).regex(plainText, 'must be one line of text without control characters');
}

/** 64 labels of 63 + 256 characters stay below 24 KiB, small enough to travel in every event. */
export const labelsSchema = z
  .record(labelKeySchema, lineSchema(256))
  .refine((labels) => Object.keys(labels).length <= 64, 'must have at most 64 labels');

export type Labels = z.infer<typeof labelsSchema>;
