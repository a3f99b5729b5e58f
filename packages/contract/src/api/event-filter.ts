import { z } from 'zod';
import { type EventType, eventTypes } from '../events/event.ts';

const typeSchema = z.enum(Object.keys(eventTypes) as [EventType, ...EventType[]]);

/** Which events of a log somebody wants. A parameter that is given twice arrives as a list. */
export const eventFilterQuery = {
  type: z
    .union([typeSchema, z.array(typeSchema).max(50)])
    .transform((type) => (Array.isArray(type) ? type : [type]))
    .optional()
    .describe('repeated: one of them must match'),
  label: z
    .union([z.string().max(320), z.array(z.string().max(320)).max(8)])
    .transform((label) => (Array.isArray(label) ? label : [label]))
    .optional()
    .describe('`key=value` of the sandbox, repeated: all must match'),
} as const;
