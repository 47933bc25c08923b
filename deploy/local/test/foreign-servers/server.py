import os
from typing import Annotated

import uvicorn
from fastapi import Depends, FastAPI
from gatehouse_verify import Caller, create_verifier
from gatehouse_verify.fastapi import install, protect

verifier = create_verifier(
    issuer=os.environ["GATEHOUSE"],
    audience=os.environ["AUDIENCE"],
    client_id=os.environ["CLIENT_ID"],
    client_secret=os.environ["CLIENT_SECRET"],
    stale={"then": os.environ["STALE"]},
)
app = FastAPI()
install(app, verifier)


@app.get("/notes")
async def notes(caller: Annotated[Caller, Depends(protect(verifier, scopes=["notes:read"]))]):
    return {"subject": caller.subject}


uvicorn.run(app, host="127.0.0.1", port=int(os.environ["PORT"]), log_level="warning")
