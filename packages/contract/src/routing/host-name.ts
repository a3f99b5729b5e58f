import { z } from 'zod';

/** A host is called what the machine calls itself, which may be a whole domain name. */
export const hostNameSchema = z
  .string()
  .max(253)
  .regex(/^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$/, 'must be letters, digits and inner . _ -');
