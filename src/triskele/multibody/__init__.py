"""Any mechanism of bodies and joints in absolute coordinates, exact and without drift.

model = from_robot(robot)                          or  from_file(load_mechanism(path))
run = simulate(model.system, model.start, 5.0)     free or driven motion
held = reactions(model.system, states, drive=...)  forces and moments in every joint
print(mobility(model.system, model.start))         freedom, and what is redundant
states = trajectory(model.system, model.start, t)  as simulate, to be differentiated
"""

from triskele.multibody.adams import adams as adams
from triskele.multibody.along import reactions_along as reactions_along
from triskele.multibody.assembly import assembled as assembled
from triskele.multibody.from_file import from_file as from_file
from triskele.multibody.from_robot import from_robot as from_robot
from triskele.multibody.generalised_alpha import generalised_alpha as generalised_alpha
from triskele.multibody.gradients import trajectory as trajectory
from triskele.multibody.integrate import simulate as simulate
from triskele.multibody.joints import Body as Body
from triskele.multibody.joints import Joint as Joint
from triskele.multibody.joints import Load as Load
from triskele.multibody.joints import Tether as Tether
from triskele.multibody.joints import frame_about as frame_about
from triskele.multibody.joints import system as system
from triskele.multibody.primitives import Drive as Drive
from triskele.multibody.reactions import reactions as reactions
from triskele.multibody.redundancy import mobility as mobility
from triskele.multibody.solve import accelerations as accelerations
from triskele.multibody.system import GROUND as GROUND
from triskele.multibody.system import State as State
from triskele.multibody.system import System as System
