# Part of tenure, under the Boost Software License 1.0 (see LICENSE).
import atexit
import os
import re
import sys

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load

required_conan_version = ">=2.4"


def advise_platform():
    print(
        "tenure: if ConanCenter is out of reach, take Boost, OpenSSL and spdlog from the platform's packages: "
        "test/package/platform_profile g++ > /tmp/platform && conan create . --profile:all /tmp/platform",
        file=sys.stderr,
    )


class TenureRecipe(ConanFile):
    name = "tenure"
    description = "Asynchronous leases for Boost.Asio: distributed locks and pools of numbered slots"
    license = "BSL-1.0"
    topics = ("asio", "lease", "distributed-lock", "redis", "coroutines")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {
        "shared": [True, False],
        "fPIC": [True, False],
        "conformance": [True, False],
        "etcd": [True, False],
        "file": [True, False],
        "opentelemetry": [True, False],
        "postgresql": [True, False],
        "prometheus": [True, False],
        "tls": [True, False],
        "zookeeper": [True, False],
    }
    default_options = {
        "shared": False,
        "fPIC": True,
        "conformance": True,
        "etcd": True,
        "file": True,
        "opentelemetry": False,
        "postgresql": False,
        "prometheus": False,
        "tls": True,
        "zookeeper": False,
    }
    implements = ["auto_shared_fpic"]
    exports_sources = "CMakeLists.txt", "cmake/*", "include/*", "lib/*", "LICENSE"
    test_package_folder = "test/package/consumer"

    def set_version(self):
        project = load(self, os.path.join(self.recipe_folder, "CMakeLists.txt"))
        self.version = re.search(r"project\(\s*tenure VERSION ([0-9.]+)", project).group(1)

    def requirements(self):
        # Public headers include Boost.Asio; OpenSSL and spdlog stay inside the library. Without TLS its libcrypto is used.
        self.requires("boost/[>=1.83 <2]", transitive_headers=True)
        self.requires("openssl/[>=3 <4]")
        self.requires("spdlog/[>=1.9 <2]")
        if self.options.opentelemetry:
            self.requires("opentelemetry-cpp/[>=1.14 <2]", transitive_headers=True)
        if self.options.postgresql:
            self.requires("libpq/[>=14]")
        if self.options.prometheus:
            self.requires("prometheus-cpp/[>=1.0 <2]", transitive_headers=True)
        # Conan gives up before `validate` if it cannot resolve them. Its own last words then are about remotes.
        atexit.register(advise_platform)

    def validate(self):
        atexit.unregister(advise_platform)
        try:
            check_min_cppstd(self, 20)
        except ConanInvalidConfiguration as error:
            raise ConanInvalidConfiguration(f"{error} Add -s compiler.cppstd=20") from error

    def layout(self):
        cmake_layout(self)

    def generate(self):
        CMakeDeps(self).generate()
        toolchain = CMakeToolchain(self)
        for part in ("TESTS", "TOOL", "EXAMPLES", "BENCH", "FUZZ"):
            toolchain.cache_variables[f"TENURE_BUILD_{part}"] = False
        toolchain.cache_variables["TENURE_INSTALL"] = True
        toolchain.cache_variables["TENURE_CONFORMANCE"] = bool(self.options.conformance)
        toolchain.cache_variables["TENURE_ETCD"] = bool(self.options.etcd)
        toolchain.cache_variables["TENURE_FILE"] = bool(self.options.file)
        toolchain.cache_variables["TENURE_TLS"] = bool(self.options.tls)
        toolchain.cache_variables["TENURE_OPENTELEMETRY"] = "ON" if self.options.opentelemetry else "OFF"
        toolchain.cache_variables["TENURE_POSTGRESQL"] = "ON" if self.options.postgresql else "OFF"
        toolchain.cache_variables["TENURE_PROMETHEUS"] = "ON" if self.options.prometheus else "OFF"
        # Conan has no package of ZooKeeper's C client: it is the platform's
        toolchain.cache_variables["TENURE_ZOOKEEPER"] = "ON" if self.options.zookeeper else "OFF"
        toolchain.cache_variables["TENURE_UNITY_BUILD"] = True
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        copy(self, "LICENSE", src=self.source_folder, dst=os.path.join(self.package_folder, "licenses"))
        CMake(self).install()

    def package_info(self):
        # The package's own tenureConfig.cmake is the one that is found, also where Boost and the others are the platform's.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = [os.path.join("lib", "cmake", "tenure")]
        self.cpp_info.set_property("pkg_config_name", "tenure")
        self.cpp_info.libs = ["tenure"]
        self.cpp_info.system_libs = ["pthread"]
        if self.options.zookeeper:
            self.cpp_info.system_libs.append("zookeeper_st")
