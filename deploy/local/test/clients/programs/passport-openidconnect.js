import express from 'express';
import session from 'express-session';
import passport from 'passport';
import Strategy from 'passport-openidconnect';
import { CLIENT_ID, CLIENT_SECRET, ISSUER, REDIRECT_URI, serve } from './harness.js';

const provider = {
  issuer: ISSUER,
  authorizationURL: `${ISSUER}/oauth2/authorize`,
  tokenURL: `${ISSUER}/oauth2/token`,
  userInfoURL: `${ISSUER}/userinfo`,
};
const client = { clientID: CLIENT_ID, clientSecret: CLIENT_SECRET, callbackURL: REDIRECT_URI };
const verify = (_issuer, profile, done) => done(null, profile);
passport.use(new Strategy({ ...provider, ...client, scope: ['email'] }, verify));
passport.serializeUser((user, done) => done(null, user));
passport.deserializeUser((user, done) => done(null, user));
const app = express().use(session({ secret: 'of the program', resave: false, saveUninitialized: false }));
const signIn = passport.authenticate('openidconnect');
app.get('/', signIn).get('/callback', signIn, (request, response) => response.json(request.user));
serve(app);
