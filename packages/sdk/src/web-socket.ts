/** What the SDK needs of a WebSocket: the browser's, or one of a library that is like it. */
export interface WebSocketLike {
  binaryType: string;
  readonly readyState: number;
  send(data: Uint8Array | string): void;
  close(code?: number, reason?: string): void;
  addEventListener(type: 'open' | 'close' | 'error' | 'message', listener: (event: { data?: unknown }) => void): void;
}

/** Opens a WebSocket to an address of `ws:` or `wss:`, offering these protocols. */
export type WebSocketFactory = (url: string, protocols: string[]) => WebSocketLike;

export function globalWebSocket(): WebSocketFactory | undefined {
  const { WebSocket } = globalThis as { WebSocket?: new (url: string, protocols: string[]) => WebSocketLike };
  return WebSocket && ((url, protocols) => new WebSocket(url, protocols));
}
