"""The public names of triskele, each from where it is defined; read by `__init__.py` too."""

from triskele.description import catalogue as _catalogue
from triskele.description.load import load as load
from triskele.description.load import parse as parse
from triskele.description.save import save as save
from triskele.description.schema import DeltaRobot as DeltaRobot
from triskele.description.schema import Limits as Limits
from triskele.description.schema import Payload as Payload
from triskele.description.schema import PrsRobot as PrsRobot
from triskele.description.schema import Robot as Robot
from triskele.description.tables import Table as Table
from triskele.description.tables import read_table as read_table
from triskele.description.tables import write_table as write_table
from triskele.errors import TriskeleError as TriskeleError
from triskele.export.motions import read_motion as read_motion
from triskele.export.motions import write_motion as write_motion
from triskele.kinematics.build import build as build
from triskele.kinematics.cycles import check_motion as check_motion
from triskele.kinematics.cycles import joint_motion_along as joint_motion_along
from triskele.kinematics.cycles import pick_and_place as pick_and_place
from triskele.kinematics.cycles import rating_cycle as rating_cycle
from triskele.kinematics.delta import Delta as Delta
from triskele.kinematics.mechanism import AbstractMechanism as AbstractMechanism
from triskele.kinematics.mechanism import PositionSolution as PositionSolution
from triskele.kinematics.mobility import mobility as mobility
from triskele.kinematics.modes import working_modes as working_modes
from triskele.kinematics.motion import Motion as Motion
from triskele.kinematics.motion import along as along
from triskele.kinematics.motion import circle as circle
from triskele.kinematics.motion import fourier as fourier
from triskele.kinematics.motion import inverted_u as inverted_u
from triskele.kinematics.motion import line as line
from triskele.kinematics.path import BSpline as BSpline
from triskele.kinematics.path import Circle as Circle
from triskele.kinematics.path import Line as Line
from triskele.kinematics.path import Rounded as Rounded
from triskele.kinematics.path import u_turn as u_turn
from triskele.kinematics.path import way_points as way_points
from triskele.kinematics.prs import Prs as Prs
from triskele.kinematics.reach import check_reach as check_reach
from triskele.kinematics.singularity import singularity_margins as singularity_margins
from triskele.kinematics.velocity import jacobian as jacobian
from triskele.kinematics.velocity import joint_motion as joint_motion
from triskele.kinematics.velocity import platform_motion as platform_motion
from triskele.kinematics.workspace import Workspace as Workspace
from triskele.kinematics.workspace import workspace as workspace
from triskele.numerics import batch as batch
from triskele.reports.datasheet import datasheet as datasheet

__all__: list[str]

robots = _catalogue.names
