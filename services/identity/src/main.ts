import { runProcess } from '@gatehouse/kit/process';
import { readIdentityConfig } from './config.ts';
import { createIdentityService } from './service.ts';

await runProcess('identity', readIdentityConfig, createIdentityService);
