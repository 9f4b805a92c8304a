"""Source of an answer that reaches into its worker: it finds the control socket and the request being served."""

REACHING_IN = """
import array, json, mmap, os, socket, sys, threading, time

def control():
    for fd in range(3, 64):
        try:
            found = socket.socket(fileno=os.dup(fd))
            if found.type == socket.SOCK_SEQPACKET:
                return found
        except OSError:
            pass

def served():
    frame = sys._getframe()
    while "request" not in frame.f_locals or "fds" not in frame.f_locals:
        frame = frame.f_back
    return frame.f_locals

def reply_first(x):
    claim = {"array": ["<f8", [len(x)], 0]}
    control().send(json.dumps({"id": served()["request"]["id"], "value": claim}).encode())
"""
