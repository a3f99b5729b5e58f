import { CaissonError, problemMediaType, type Route, type RouteName, routes, toProblem } from '@caisson/contract';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from '../telemetry/log.ts';
import { lingerOver } from './upload-body.ts';

/** What fastify and Node say before our own code runs, as our errors. */
const foreignCodes: Record<string, CaissonError> = {
  FST_ERR_CTP_BODY_TOO_LARGE: new CaissonError('body_too_large'),
  FST_ERR_CTP_INVALID_MEDIA_TYPE: new CaissonError('media_type_unsupported'),
  FST_ERR_CTP_EMPTY_JSON_BODY: new CaissonError('body_malformed', 'the body is empty'),
  FST_ERR_CTP_INVALID_JSON_BODY: new CaissonError('body_malformed', 'the body is not valid JSON'),
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: new CaissonError(
    'body_malformed',
    'the body is not as long as its Content-Length says',
  ),
  FST_ERR_BAD_URL: new CaissonError('route_not_found', 'the URL cannot be read'),
  FST_ERR_MAX_PARAM_LENGTH: new CaissonError('route_not_found', 'the URL is too long'),
};

/** Whatever was thrown as one of ours. A defect is logged with all it has and answered without any of it. */
export function translate(error: unknown, log: Logger, requestId: string): CaissonError {
  if (error instanceof CaissonError) return error;
  const { code, statusCode } = (error ?? {}) as { code?: string; statusCode?: number };
  const known = code === undefined ? undefined : foreignCodes[code];
  if (known) return known;
  if (error instanceof SyntaxError) return new CaissonError('body_malformed', 'the body is not valid JSON');
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500)
    return new CaissonError('request_invalid', (error as Error).message);
  log.error({ err: error, request: requestId }, 'a defect');
  return new CaissonError('internal');
}

export function sendProblem(reply: FastifyReply, request: FastifyRequest, error: CaissonError): FastifyReply {
  // Nobody should wait for what will be the same.
  if (error.status === 429 || (error.status === 503 && error.retryable)) reply.header('retry-after', '1');
  // What was refused before its body was read is not read to its end either, but for the upload of somebody we know.
  if (request.caller !== undefined && isUpload(request)) lingerOver(request.raw);
  else if (!request.raw.complete) reply.header('connection', 'close');
  if (error.status === 401) reply.header('www-authenticate', 'Bearer');
  return reply
    .code(error.status)
    .type(problemMediaType)
    .send(JSON.stringify(toProblem(error, request.id)));
}

export function isUpload(request: FastifyRequest): boolean {
  const name = request.routeOptions.config.route as RouteName | undefined;
  return name !== undefined && (routes[name] as Route).upload !== undefined;
}
