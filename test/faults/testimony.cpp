// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "testimony.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <system_error>

namespace tenure::faults
{

namespace
{

/** The rest of the line, without the space in front. */
std::string rest_of(std::istringstream& line)
{
    std::string text;
    std::getline(line >> std::ws, text);
    return text;
}

} // namespace

TestimonyFile::TestimonyFile(std::string const& path)
    : file_(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600))
{
    if (file_ < 0)
        throw std::system_error(errno, std::generic_category(), path);
}

TestimonyFile::~TestimonyFile()
{
    ::close(file_);
}

void TestimonyFile::add(Loss const& loss)
{
    std::ostringstream line;
    line << "loss " << loss.pid << ' ' << loss.cell << ' ' << loss.fencing_token << ' ' << loss.fires_at << ' '
         << loss.valid_until << ' ' << loss.told_at << ' ' << loss.stall << ' ' << loss.stall_before << ' '
         << loss.reason;
    write(line.str());
}

void TestimonyFile::add(GivenBack const& given_back)
{
    std::ostringstream line;
    line << "back " << given_back.pid << ' ' << given_back.cell << ' ' << given_back.fencing_token << ' '
         << given_back.began << ' ' << given_back.ended << ' ' << given_back.outcome;
    write(line.str());
}

void TestimonyFile::add(Complaint const& complaint)
{
    std::ostringstream line;
    line << "complaint " << complaint.pid << ' ' << complaint.cell << ' ' << complaint.at << ' ' << complaint.rule
         << ' ' << complaint.text;
    write(line.str());
}

void TestimonyFile::add(Turn const& turn)
{
    std::ostringstream line;
    line << "turn " << turn.pid << ' ' << turn.worker << ' ' << turn.cell << ' ' << turn.part.weight << ' '
         << turn.part.capacity << ' ' << turn.began << ' ' << turn.granted << ' ' << turn.ended << ' ' << turn.token;
    write(line.str());
}

void TestimonyFile::add_failed(std::string const& error)
{
    write("failed " + error);
}

void TestimonyFile::add_late_write(std::string const& answer)
{
    write("late " + answer);
}

void TestimonyFile::write(std::string const& line)
{
    auto const text = line + '\n';
    // One call for a line: lines of several processes do not mix.
    if (::write(file_, text.data(), text.size()) != static_cast<ssize_t>(text.size()))
        throw std::system_error(errno, std::generic_category(), "cannot write the testimony");
}

Testimonies read_testimonies(std::string const& path)
{
    Testimonies all;
    std::ifstream file{path};
    for (std::string text; std::getline(file, text);) {
        std::istringstream line{text};
        std::string kind;
        line >> kind;
        if (kind == "loss") {
            Loss loss;
            line >> loss.pid >> loss.cell >> loss.fencing_token >> loss.fires_at >> loss.valid_until >> loss.told_at >>
                loss.stall >> loss.stall_before;
            loss.reason = rest_of(line);
            all.losses.push_back(loss);
        } else if (kind == "back") {
            GivenBack back;
            line >> back.pid >> back.cell >> back.fencing_token >> back.began >> back.ended;
            back.outcome = rest_of(line);
            all.given_back.push_back(back);
        } else if (kind == "complaint") {
            Complaint complaint;
            line >> complaint.pid >> complaint.cell >> complaint.at >> complaint.rule;
            complaint.text = rest_of(line);
            all.complaints.push_back(complaint);
        } else if (kind == "turn") {
            Turn turn;
            line >> turn.pid >> turn.worker >> turn.cell >> turn.part.weight >> turn.part.capacity >> turn.began >>
                turn.granted >> turn.ended >> turn.token;
            all.turns.push_back(turn);
        } else if (kind == "failed") {
            ++all.failed[rest_of(line)];
        } else if (kind == "late") {
            ++all.late_writes[rest_of(line)];
        } else {
            throw std::runtime_error("not a testimony: " + text);
        }
        if (line.fail() && !line.eof())
            throw std::runtime_error("not a testimony: " + text);
    }
    return all;
}

} // namespace tenure::faults
