import { byteForms, problemMediaType, problemSchema, type Route, routeNames, routes } from '@caisson/contract';
import { z } from 'zod';

/** The OpenAPI 3.1 document, from the table of routes and from nothing else. */
export function openApi(version: string): Record<string, unknown> {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const name of routeNames) {
    const route: Route = routes[name];
    paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: operation(name, route) };
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Caisson', version, license: { name: 'Apache-2.0', identifier: 'Apache-2.0' } },
    security: [{ bearer: [] }, { header: [] }],
    paths,
    components: {
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer' },
        header: { type: 'apiKey', in: 'header', name: 'X-API-Key' },
      },
      schemas: { Problem: z.toJSONSchema(problemSchema, { io: 'output', target: 'draft-2020-12' }) },
    },
  };
}

function operation(name: string, route: Route): Record<string, unknown> {
  const parameters = [...fields(route.params, 'path'), ...fields(route.query, 'query')];
  if (route.idempotencyKey) {
    parameters.push({
      name: 'Idempotency-Key',
      in: 'header',
      required: false,
      schema: { type: 'string', maxLength: 200 },
    });
  }
  const answers = Object.entries(route.responses).map(([status, schema]) => {
    const content = answerContent(route, schema);
    return [status, { description: route.summary, ...(Object.keys(content).length > 0 ? { content } : {}) }];
  });
  const body = bodyContent(route);
  return {
    operationId: name,
    summary: route.summary,
    tags: [route.tag],
    'x-scope': route.scope,
    ...(route.scope === null ? { security: [] } : {}),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(route.webSocket ? { 'x-websocket': true } : {}),
    ...(body ? { requestBody: { content: body } } : {}),
    responses: {
      ...Object.fromEntries(answers),
      default: {
        description: 'What went wrong',
        content: { [problemMediaType]: { schema: { $ref: '#/components/schemas/Problem' } } },
      },
    },
  };
}

/** Bytes have a media type and no schema, as OpenAPI 3.1 wants it. */
function answerContent(route: Route, schema: z.ZodType): Record<string, unknown> {
  if (route.webSocket) return {};
  const events = route.stream ? { [byteForms.events]: { schema: json(route.stream, 'output') } } : {};
  if (route.download) return route.download === 'events' ? events : { [byteForms[route.download]]: {} };
  const accepted = route.accepts ? { [byteForms[route.accepts]]: {} } : {};
  return { 'application/json': { schema: json(schema, 'output') }, ...events, ...accepted };
}

function bodyContent(route: Route): Record<string, unknown> | undefined {
  if (route.upload) return { [byteForms[route.upload]]: {} };
  return route.body && { 'application/json': { schema: json(route.body, 'input') } };
}

function fields(schema: z.ZodObject | undefined, place: 'path' | 'query'): Record<string, unknown>[] {
  if (!schema) return [];
  return Object.entries(schema.shape as Record<string, z.ZodType>).map(([name, field]) => ({
    name,
    in: place,
    required: place === 'path' || !field.safeParse(undefined).success,
    schema: json(field, 'input'),
  }));
}

function json(schema: z.ZodType, io: 'input' | 'output'): unknown {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io, target: 'draft-2020-12', unrepresentable: 'any' });
  return rest;
}
