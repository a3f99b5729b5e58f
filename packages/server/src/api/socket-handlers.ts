import type { SocketHandlers } from './handler.ts';
import { connectPort } from './port-connect.ts';
import { attachProcess } from './process-attach.ts';

export const socketHandlers: SocketHandlers = {
  'process.attach': attachProcess,
  'port.connect': connectPort,
};
