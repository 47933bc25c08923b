import { runProcess } from '@gatehouse/server/process';
import { readIdentityConfig } from './config.ts';
import { createIdentityService } from './service.ts';

await runProcess('identity', readIdentityConfig, createIdentityService);
