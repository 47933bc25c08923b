import { LRUCache } from 'lru-cache';
import type { ApplicationCache } from './application.ts';

/** Applications that were read in the last five seconds: every token request needs one. */
export function createApplicationCache(): ApplicationCache {
  return new LRUCache({ max: 1000, ttl: 5000 });
}
