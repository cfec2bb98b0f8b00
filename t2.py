import time, numpy as np, resource
import sojourn as sj
from sojourn.simulation.chunks import chunk
p=sj.paper.SETTINGS["A"]
for pol in (sj.ULCB(), sj.LearnedIMED()):
    t=time.process_time()
    chunk(p,pol,0,0,0,np.array([9]))
    print(pol.name, "cpu", round(time.process_time()-t,2))
    t=time.process_time()
    chunk(p,pol,0,0,0,np.array([9]))
    print(" again", round(time.process_time()-t,4))
