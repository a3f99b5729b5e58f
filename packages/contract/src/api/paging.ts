import { z } from 'zod';

/** A page costs the server at most this many rows; larger ones only delay the first. */
export const maxPageLimit = 200;

/** Numbers arrive as text in a query string. */
export const pageQuery = {
  limit: z.coerce.number().int().min(1).max(maxPageLimit).default(50),
  after: z.string().max(200).optional().describe('`next` of the previous page'),
};

export function pageSchema<T extends z.ZodType>(item: T) {
  return z.object({
    items: z.array(item),
    next: z.string().nullable().describe('cursor of the next page; null on the last one'),
  });
}
