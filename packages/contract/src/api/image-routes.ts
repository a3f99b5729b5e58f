import { z } from 'zod';
import {
  collectedImagesSchema,
  collectImagesSchema,
  imageDigestSchema,
  imageReferenceSchema,
  imageSchema,
  manifestSchema,
  publishedImageSchema,
  publishImageSchema,
  pullImageSchema,
  registryExtensionSchema,
  tagPageSchema,
} from './image-shape.ts';
import { pageQuery } from './paging.ts';
import { route } from './route.ts';
import { secretNameSchema } from './secret-shape.ts';

const tag = 'images';
const params = z.strictObject({ digest: imageDigestSchema });
const secret = secretNameSchema.optional();
const reference = imageReferenceSchema;

/**
 * Images. Everybody sees those of their own sandboxes and snapshots, and nothing else: what others use, and what the
 * server keeps for them, is the operator's to know. So are registries, which are asked in the server's name.
 */
export const imageRoutes = {
  'image.list': route({
    method: 'GET',
    path: '/v1/images',
    summary: 'The images of your sandboxes and snapshots; with `all`, for the operator, every one that is kept',
    tag,
    scope: 'read',
    query: z.strictObject({ all: z.enum(['true', 'false']).optional() }),
    responses: { 200: z.object({ items: z.array(imageSchema) }) },
  }),
  'image.get': route({
    method: 'GET',
    path: '/v1/images/{digest}',
    summary: 'One image',
    tag,
    scope: 'read',
    params,
    responses: { 200: imageSchema },
  }),
  'image.pull': route({
    method: 'POST',
    path: '/v1/images/pull',
    summary: 'Fetch an image and keep it until it is deleted; as it goes with `Accept: text/event-stream`',
    tag,
    scope: 'admin',
    repeatable: true,
    body: pullImageSchema,
    responses: { 200: imageSchema },
    accepts: 'events',
  }),
  'image.publish': route({
    method: 'POST',
    path: '/v1/images/{digest}/publish',
    summary: 'Bring an image to a registry; as it goes with `Accept: text/event-stream`',
    tag,
    scope: 'admin',
    repeatable: true,
    params,
    body: publishImageSchema,
    responses: { 200: publishedImageSchema },
    accepts: 'events',
  }),
  'image.delete': route({
    method: 'DELETE',
    path: '/v1/images/{digest}',
    summary: 'Delete an image that nothing uses; its layers go when they are collected',
    tag,
    scope: 'admin',
    params,
    responses: { 200: imageSchema },
  }),
  'image.gc': route({
    method: 'POST',
    path: '/v1/images/gc',
    summary: 'Remove images and layers that nothing refers to, now',
    tag,
    scope: 'admin',
    repeatable: true,
    body: collectImagesSchema,
    responses: { 200: collectedImagesSchema },
    accepts: 'events',
  }),
  'image.tags': route({
    method: 'GET',
    path: '/v1/images/tags',
    summary: 'The tags of a repository of a registry',
    tag,
    scope: 'admin',
    query: z.strictObject({ repository: reference.describe('host/name'), secret, ...pageQuery }),
    responses: { 200: tagPageSchema },
  }),
  'image.manifest': route({
    method: 'GET',
    path: '/v1/images/manifest',
    summary: 'A manifest or index of a registry, or its head alone',
    tag,
    scope: 'admin',
    query: z.strictObject({ reference, secret, head: z.enum(['true', 'false']).optional() }),
    responses: { 200: manifestSchema },
  }),
  'image.unpublish': route({
    method: 'DELETE',
    path: '/v1/images/manifest',
    summary: 'Delete an image from a registry, with all of its tags, where the registry allows that',
    tag,
    scope: 'admin',
    query: z.strictObject({ reference, secret }),
    responses: { 200: manifestSchema },
  }),
  'image.extensions': route({
    method: 'GET',
    path: '/v1/images/extensions',
    summary: 'What a registry can do beyond the standard, as it tells; none where it does not',
    tag,
    scope: 'admin',
    query: z.strictObject({ repository: reference.describe('host/name'), secret }),
    responses: { 200: z.object({ items: z.array(registryExtensionSchema) }) },
  }),
} as const;
