from jelly.cli import main

main()
