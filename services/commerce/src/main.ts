import { runProcess } from '@gatehouse/server/process';
import { readCommerceConfig } from './config.ts';
import { createCommerceService } from './service.ts';

await runProcess('commerce', readCommerceConfig, createCommerceService);
