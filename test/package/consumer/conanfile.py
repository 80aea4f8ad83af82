# Part of tenure, under the Boost Software License 1.0 (see LICENSE).
import atexit
import os
import shutil
import tempfile

from conan import ConanFile
from conan.tools.build import can_run
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout


class ConsumerRecipe(ConanFile):
    settings = "os", "arch", "compiler", "build_type"
    def requirements(self):
        self.requires(self.tested_reference_str)

    def layout(self):
        # `conan create .` runs this in tenure's source tree, where nothing is left behind
        directory = tempfile.mkdtemp(prefix="tenure-consumer-")
        atexit.register(shutil.rmtree, directory, ignore_errors=True)
        cmake_layout(self, build_folder=directory)

    def generate(self):
        CMakeDeps(self).generate()
        toolchain = CMakeToolchain(self)
        toolchain.user_presets_path = False
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def test(self):
        if can_run(self):
            for program in ("consumer", "features", "own_json", "lost_lease"):
                self.run(os.path.join(self.cpp.build.bindir, program), env="conanrun")
