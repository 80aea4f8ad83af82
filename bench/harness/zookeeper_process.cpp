// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "harness/zookeeper_process.hpp"

#include "harness/free_port.hpp"

#include "raw/zookeeper.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace bench
{

namespace
{

/// names what else it needs
constexpr char const* jar = "/usr/share/java/zookeeper.jar";
constexpr char const* logging = "/usr/share/java/slf4j-simple.jar";

} // namespace

ZookeeperProcess::ZookeeperProcess()
    : port_(free_port())
{
    auto const configuration = (program_.directory() / "zoo.cfg").string();
    std::ofstream file{configuration};
    file << "tickTime=2000\ndataDir=" << (program_.directory() / "data").string() << "\nclientPort=" << port_
         << "\nclientPortAddress=127.0.0.1\nadmin.enableServer=false\n4lw.commands.whitelist=*\nmaxClientCnxns=0\n"
         // a log is begun with this many kB, which are memory here
         << "preAllocSize=16384\n";
    if (!file.flush())
        throw std::runtime_error("cannot write " + configuration);
    program_.start(
        {"java", "-Xmx512m", "-XX:+UseSerialGC", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp",
         std::string(jar) + ":" + logging, "org.apache.zookeeper.server.quorum.QuorumPeerMain", configuration},
        [this] { return raw::zookeeper_answers(port_); });
}

bool ZookeeperProcess::installed()
{
    return std::filesystem::exists(jar) && std::system("command -v java > /dev/null") == 0;
}

std::string ZookeeperProcess::url() const
{
    return "zookeeper://127.0.0.1:" + std::to_string(port_);
}

} // namespace bench
