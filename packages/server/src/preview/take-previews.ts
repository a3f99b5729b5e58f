import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { PreviewDoor } from './preview-door.ts';

type Handle = (request: IncomingMessage, response: ServerResponse) => void;

/**
 * Stands before everything else that a server does: what is for a preview goes to its door and is seen by nobody else,
 * what is not never gets there.
 */
export function takePreviews(
  server: Server,
  door: PreviewDoor | undefined,
  byPath: (request: IncomingMessage) => boolean,
  otherwise: Handle,
): void {
  const take: Handle = (request, response) => {
    const target = door?.find(request, byPath(request));
    if (door && target) door.serve(target, request, response);
    else otherwise(request, response);
  };
  server.on('request', take);
  // Who asks before it sends is told to go on by whoever wants the body.
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    if (!door?.find(request, byPath(request))) response.writeContinue();
    take(request, response);
  });
}
